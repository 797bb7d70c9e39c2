// Schedules one after the other.

#include <algorithm>
#include <iterator>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "optim/schedule/schedule_fields.h"
#include "optim/schedule/schedule_kinds.h"
#include "proto/field_check.h"

namespace millrace {
namespace {

// Evaluates the part that contains position t at t − start of the part. A part begins at the end of
// the part before.
// Source: `SequentialLR` of torch.optim.lr_scheduler, whose milestones are the ends of the parts.
class ChainedSchedule : public Schedule {
 public:
  struct Part {
    double start;
    std::unique_ptr<Schedule> schedule;
  };
  // REQUIRES: `parts` ascend by start and are not empty.
  ChainedSchedule(ScheduleConfig::Unit unit, std::vector<Part> parts)
      : Schedule(unit), parts_(std::move(parts)) {}

  double rate_at(double position) const override {
    const auto after =
        std::upper_bound(parts_.begin(), parts_.end(), position,
                         [](double value, const Part& part) { return value < part.start; });
    const Part& part = *std::prev(after);
    return part.schedule->rate_at(position - part.start);
  }
  double end() const override { return parts_.back().start + parts_.back().schedule->end(); }

 private:
  const std::vector<Part> parts_;
};

absl::Status check_schedule_of_part(absl::string_view where, const ScheduleConfig& config,
                                    const ScheduleInput& input) {
  FieldErrors errors;
  // A part may set the default unit explicitly.
  if (config.unit() != ScheduleConfig::STEPS && config.unit() != input.unit) {
    errors.add(wrong(where, "unit is set; set it in the schedule that holds the chain"));
  }
  if (config.has_reduce_on_plateau()) {
    errors.add(wrong(where, "its rate follows from a metric, so it cannot be part of a chain"));
    return errors.status();
  }
  errors.add(schedule_registry().check(where, config, input));
  return errors.status();
}

absl::Status check_chained(absl::string_view where, const ScheduleConfig& config,
                           const ScheduleInput& input) {
  FieldErrors errors;
  const ChainedScheduleConfig& chain = config.chained();
  if (chain.part().empty()) errors.add(wrong(where, "part is missing; set at least one"));
  for (int i = 0; i < chain.part_size(); ++i) {
    const ChainedScheduleConfig::Part& part = chain.part(i);
    const std::string place = absl::StrCat(where, ".", entry("part", i));
    if (i + 1 < chain.part_size()) {
      check_length(place, "length", part.length(), 1, input, &errors);
    } else if (part.has_length()) {
      errors.add(wrong(place, "length is set; the last part has none, since it does not end"));
    }
    errors.add(check_schedule_of_part(absl::StrCat(place, ".schedule"), part.schedule(), input));
  }
  return errors.status();
}

absl::StatusOr<std::unique_ptr<Schedule>> create_chained(const ScheduleConfig& config,
                                                         const ScheduleInput& input) {
  std::vector<ChainedSchedule::Part> parts;
  double start = 0;
  for (const ChainedScheduleConfig::Part& part : config.chained().part()) {
    ASSIGN_OR_RETURN(std::unique_ptr<Schedule> schedule,
                     schedule_registry().create(part.schedule(), input));
    if (!schedule->monitor().empty()) {
      return absl::InvalidArgumentError(
          absl::StrCat("the schedule \"", part.schedule().custom().name(),
                       "\" follows a metric, so it cannot be part of a chain"));
    }
    parts.push_back({start, std::move(schedule)});
    start = snap_to_whole(start + length_of(part.length(), input).value_or(0));
  }
  return std::make_unique<ChainedSchedule>(input.unit, std::move(parts));
}

}  // namespace

ScheduleKinds chains() { return {{ScheduleConfig::kChained, &create_chained, &check_chained}}; }

}  // namespace millrace
