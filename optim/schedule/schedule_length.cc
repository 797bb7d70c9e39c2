#include "optim/schedule/schedule_length.h"

#include <algorithm>
#include <cmath>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "proto/field_check.h"

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

std::string unit_name(const ScheduleScope& scope) {
  return absl::AsciiStrToLower(ScheduleConfig::Unit_Name(scope.unit));
}

// Returns "; or ..." that names a unit whose total is known, and its place; "" if there is none.
std::string other_unit(const ScheduleScope& scope) {
  for (const ScheduleConfig::Unit unit : {ScheduleConfig::EPOCHS, ScheduleConfig::WINDOWS}) {
    const std::optional<int64_t> total = scope.totals.of(unit);
    if (unit == scope.unit || !total.has_value()) continue;
    const std::string& name = ScheduleConfig::Unit_Name(unit);
    return absl::StrCat("; or, as ", source_of_total(unit), " is ", *total, ", set unit: ", name,
                        " in the message schedule around it, as in schedule { unit: ", name,
                        " ... }");
  }
  return "";
}

absl::Status unknown_total(absl::string_view place, const ScheduleScope& scope) {
  const absl::string_view source = source_of_total(scope.unit);
  const std::string remedy =
      source.empty() ? "use count, or another unit" : absl::StrCat("set ", source, " or use count");
  return wrong(place,
               absl::StrCat("share needs the total of ", unit_name(scope),
                            " of training, which is not known; ", remedy, other_unit(scope)));
}

// Errors: a value that is not set or not a length.
absl::Status check_value(absl::string_view place, const ScheduleLength& length,
                         const ScheduleScope& scope) {
  switch (length.value_case()) {
    case ScheduleLength::kCount: return not_negative(place, "count", length.count());
    case ScheduleLength::kShare: break;
    case ScheduleLength::VALUE_NOT_SET: return wrong(place, "is missing; set count or share");
  }
  if (!(length.share() > 0 && length.share() <= 1)) {
    return wrong_number(place, "share", length.share(), "above 0 and at most 1");
  }
  return scope.totals.will_know(scope.unit) ? absl::OkStatus() : unknown_total(place, scope);
}

absl::Status too_short(absl::string_view place, const ScheduleLength& length, double value,
                       double minimum, const ScheduleScope& scope) {
  const std::string rule = absl::StrCat("; must be at least ", minimum);
  if (length.has_count()) return wrong(place, absl::StrCat("count is ", value, rule));
  return wrong(place, absl::StrCat("share ", length.share(), " of ", *scope.totals.of(scope.unit),
                                   " ", unit_name(scope), " is ", value, rule));
}

}  // namespace

double snap_to_whole(double value) {
  const double whole = std::round(value);
  return std::abs(value - whole) <= 1e-9 * std::max(1.0, std::abs(value)) ? whole : value;
}

std::optional<double> length_of(const ScheduleLength& length, const ScheduleScope& scope) {
  if (!check_value("", length, scope).ok()) return std::nullopt;
  if (length.has_count()) return length.count();
  const std::optional<int64_t> total = scope.totals.of(scope.unit);
  if (!total.has_value()) return std::nullopt;
  return snap_to_whole(length.share() * static_cast<double>(*total));
}

std::optional<double> check_length(absl::string_view where, absl::string_view field,
                                   const ScheduleLength& length, double minimum,
                                   const ScheduleScope& scope, FieldErrors* errors) {
  const std::string place = absl::StrCat(where, ".", field);
  errors->add(check_value(place, length, scope));
  const std::optional<double> value = length_of(length, scope);
  if (!value.has_value() || *value >= minimum) return value;
  errors->add(too_short(place, length, *value, minimum, scope));
  return std::nullopt;
}

void check_within_training(absl::string_view where, absl::string_view field,
                           std::optional<double> length, const ScheduleScope& scope,
                           FieldErrors* errors) {
  const std::optional<int64_t> total = scope.totals.of(scope.unit);
  if (!length.has_value() || !total.has_value()) return;
  if (*length <= static_cast<double>(*total)) return;
  // Only a total that was counted, which is a multiple of max_epochs, has examples.
  const absl::string_view limit =
      scope.totals.examples.has_value() ? "max_epochs" : source_of_total(scope.unit);
  errors->add(wrong(absl::StrCat(where, ".", field),
                    absl::StrCat("the warm-up of ", *length, " ", unit_name(scope),
                                 " does not end in training, which has ", *total,
                                 "; shorten it or raise ", limit)));
}

}  // namespace millrace
