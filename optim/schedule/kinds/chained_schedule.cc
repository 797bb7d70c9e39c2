#include "optim/schedule/kinds/chained_schedule.h"

#include <algorithm>
#include <iterator>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "optim/schedule/schedule_length.h"
#include "optim/schedule/schedule_members.h"
#include "proto/field_check.h"

namespace millrace {
namespace {

void check_schedule_of_part(absl::string_view where, const ScheduleConfig& config,
                            const ScheduleScope& scope, FieldErrors* errors) {
  // The default may be written out.
  if (config.unit() != ScheduleConfig::STEPS && config.unit() != scope.unit) {
    errors->add(wrong(where, "unit is set; set it in the schedule that holds the chain"));
  }
  const ScheduleMember* member = scope.members->find(config.kind_case());
  if (member != nullptr && !member->chainable) {
    errors->add(wrong(where, "its rate follows from a metric, so it cannot be part of a chain"));
    return;
  }
  scope.members->check(where, config, scope, errors);
}

}  // namespace

void ChainedSchedule::check(absl::string_view where, const ScheduleConfig& config,
                            const ScheduleScope& scope, FieldErrors* errors) {
  const ChainedScheduleConfig& chain = config.chained();
  if (chain.part().empty()) errors->add(wrong(where, "part is missing; set at least one"));
  for (int i = 0; i < chain.part_size(); ++i) {
    const ChainedScheduleConfig::Part& part = chain.part(i);
    const std::string place = absl::StrCat(where, ".", entry("part", i));
    if (i + 1 < chain.part_size()) {
      check_length(place, "length", part.length(), 1, scope, errors);
    } else if (part.has_length()) {
      errors->add(wrong(place, "length is set; the last part has none, since it does not end"));
    }
    check_schedule_of_part(absl::StrCat(place, ".schedule"), part.schedule(), scope, errors);
  }
}

absl::StatusOr<std::unique_ptr<Schedule>> ChainedSchedule::create(const ScheduleConfig& config,
                                                                  double learning_rate,
                                                                  const ScheduleScope& scope) {
  std::vector<Part> parts;
  double start = 0;
  for (const ChainedScheduleConfig::Part& part : config.chained().part()) {
    ASSIGN_OR_RETURN(std::unique_ptr<Schedule> schedule,
                     scope.members->create(part.schedule(), learning_rate, scope));
    if (!schedule->monitor().empty()) {
      return absl::InvalidArgumentError(
          absl::StrCat("the schedule \"", part.schedule().custom().name(),
                       "\" follows a metric, so it cannot be part of a chain"));
    }
    parts.push_back({start, std::move(schedule)});
    start = snap_to_whole(start + length_of(part.length(), scope).value_or(0));
  }
  return std::unique_ptr<Schedule>(new ChainedSchedule(scope.unit, std::move(parts)));
}

double ChainedSchedule::rate_at(double position) const {
  const auto after =
      std::upper_bound(parts_.begin(), parts_.end(), position,
                       [](double value, const Part& part) { return value < part.start; });
  const Part& part = *std::prev(after);
  return part.schedule->rate_at(position - part.start);
}

double ChainedSchedule::end() const { return parts_.back().start + parts_.back().schedule->end(); }

}  // namespace millrace
