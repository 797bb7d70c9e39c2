// Schedules one after the other.
#ifndef MILLRACE_OPTIM_SCHEDULE_KINDS_CHAINED_SCHEDULE_H_
#define MILLRACE_OPTIM_SCHEDULE_KINDS_CHAINED_SCHEDULE_H_

#include <memory>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "optim/schedule/schedule.h"
#include "optim/schedule/schedule_scope.h"
#include "proto/field_errors.h"
#include "proto/schedule.pb.h"

namespace millrace {

// Evaluates the part that contains position t at t − start of the part. A part begins at the end of
// the part before.
// Source: `SequentialLR` of torch.optim.lr_scheduler, whose milestones are the ends of the parts.
class ChainedSchedule : public Schedule {
 public:
  // Functions of the ScheduleMember `chained`.
  static void check(absl::string_view where, const ScheduleConfig& config,
                    const ScheduleScope& scope, FieldErrors* errors);
  static absl::StatusOr<std::unique_ptr<Schedule>> create(const ScheduleConfig& config,
                                                          double learning_rate,
                                                          const ScheduleScope& scope);

  double rate_at(double position) const override;
  double end() const override;

 private:
  struct Part {
    double start;
    std::unique_ptr<Schedule> schedule;
  };

  ChainedSchedule(ScheduleConfig::Unit unit, std::vector<Part> parts)
      : Schedule(unit), parts_(std::move(parts)) {}

  std::vector<Part> parts_;  // ascending by start; not empty
};

}  // namespace millrace

#endif  // MILLRACE_OPTIM_SCHEDULE_KINDS_CHAINED_SCHEDULE_H_
