#include "optim/schedule/schedule_fields.h"

#include <algorithm>
#include <cmath>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "proto/field_check.h"
#include "proto/range_check.h"

namespace millrace {
namespace {

// Returns the option that makes the total of `unit` known; "" if there is none.
absl::string_view source_of_total(ScheduleConfig::Unit unit) {
  switch (unit) {
    case ScheduleConfig::STEPS: return "max_steps";
    case ScheduleConfig::EPOCHS: return "max_epochs";
    case ScheduleConfig::WINDOWS: return "max_windows";
    case ScheduleConfig::EXAMPLES: break;
  }
  return "";
}

std::string unit_name(const ScheduleInput& input) {
  return absl::AsciiStrToLower(ScheduleConfig::Unit_Name(input.unit));
}

// Returns "; or ..." that names a unit with a known total, and its place; "" without such a unit.
std::string other_unit(const ScheduleInput& input) {
  for (const ScheduleConfig::Unit unit : {ScheduleConfig::EPOCHS, ScheduleConfig::WINDOWS}) {
    const std::optional<int64_t> total = input.totals.of(unit);
    if (unit == input.unit || !total.has_value()) continue;
    const std::string& name = ScheduleConfig::Unit_Name(unit);
    return absl::StrCat("; or, as ", source_of_total(unit), " is ", *total, ", set unit: ", name,
                        " in the message schedule around it, as in schedule { unit: ", name,
                        " ... }");
  }
  return "";
}

absl::Status unknown_total(absl::string_view place, const ScheduleInput& input) {
  const absl::string_view source = source_of_total(input.unit);
  const std::string remedy =
      source.empty() ? "use count, or another unit" : absl::StrCat("set ", source, " or use count");
  return wrong(place,
               absl::StrCat("share needs the total of ", unit_name(input),
                            " of training, which is not known; ", remedy, other_unit(input)));
}

// Errors: a value that is not set, or a share of a total that is not known.
absl::Status check_value(absl::string_view place, const ScheduleLength& length,
                         const ScheduleInput& input) {
  switch (length.value_case()) {
    case ScheduleLength::kCount: return absl::OkStatus();
    case ScheduleLength::kShare: break;
    case ScheduleLength::VALUE_NOT_SET: return wrong(place, "is missing; set count or share");
  }
  return input.totals.will_know(input.unit) ? absl::OkStatus() : unknown_total(place, input);
}

bool is_in_range(const ScheduleLength& length) { return check_own_ranges("", length).ok(); }

absl::Status too_short(absl::string_view place, const ScheduleLength& length, double value,
                       double minimum, const ScheduleInput& input) {
  const std::string rule = absl::StrCat("; must be at least ", minimum);
  if (length.has_count()) return wrong(place, absl::StrCat("count is ", value, rule));
  return wrong(place, absl::StrCat("share ", length.share(), " of ", *input.totals.of(input.unit),
                                   " ", unit_name(input), " is ", value, rule));
}

}  // namespace

double snap_to_whole(double value) {
  const double whole = std::round(value);
  return std::abs(value - whole) <= 1e-9 * std::max(1.0, std::abs(value)) ? whole : value;
}

std::optional<double> length_of(const ScheduleLength& length, const ScheduleInput& input) {
  if (!is_in_range(length) || !check_value("", length, input).ok()) return std::nullopt;
  if (length.has_count()) return length.count();
  const std::optional<int64_t> total = input.totals.of(input.unit);
  if (!total.has_value()) return std::nullopt;
  return snap_to_whole(length.share() * static_cast<double>(*total));
}

std::optional<double> check_length(absl::string_view where, absl::string_view field,
                                   const ScheduleLength& length, double minimum,
                                   const ScheduleInput& input, FieldErrors* errors) {
  if (!is_in_range(length)) return std::nullopt;
  const std::string place = absl::StrCat(where, ".", field);
  errors->add(check_value(place, length, input));
  const std::optional<double> value = length_of(length, input);
  if (!value.has_value() || *value >= minimum) return value;
  errors->add(too_short(place, length, *value, minimum, input));
  return std::nullopt;
}

void check_within_training(absl::string_view where, absl::string_view field,
                           std::optional<double> length, const ScheduleInput& input,
                           FieldErrors* errors) {
  const std::optional<int64_t> total = input.totals.of(input.unit);
  if (!length.has_value() || !total.has_value()) return;
  if (*length <= static_cast<double>(*total)) return;
  // Only a counted total, which is a multiple of max_epochs, has a number of examples.
  const absl::string_view limit =
      input.totals.examples.has_value() ? "max_epochs" : source_of_total(input.unit);
  errors->add(wrong(absl::StrCat(where, ".", field),
                    absl::StrCat("the warm-up of ", *length, " ", unit_name(input),
                                 " does not end in training, which has ", *total,
                                 "; shorten it or raise ", limit)));
}

Warmup::Warmup(const ScheduleWarmup& config, const ScheduleInput& input)
    : start_factor_(config.start_factor()),
      length_(length_of(config.length(), input).value_or(0)) {}

std::optional<double> Warmup::check(absl::string_view where, const ScheduleWarmup& config,
                                    double minimum, const ScheduleInput& input,
                                    FieldErrors* errors) {
  const std::optional<double> length =
      check_length(where, "length", config.length(), minimum, input, errors);
  check_within_training(where, "length", length, input, errors);
  return length;
}

void Warmup::check_within(absl::string_view where, const ScheduleWarmup& config,
                          std::optional<double> length, const ScheduleInput& input,
                          FieldErrors* errors) {
  const std::optional<double> warmup = check(where, config, 0, input, errors);
  if (!warmup.has_value() || !length.has_value() || *warmup <= *length - 1) return;
  errors->add(
      wrong(where, absl::StrCat("its length is ", *warmup, "; must be at most ", *length - 1,
                                ", one less than the schedule with its warm-up")));
}

double Warmup::factor(double position) const {
  if (position >= length_) return 1;
  return start_factor_ + (1 - start_factor_) * (position / length_);
}

}  // namespace millrace
