// Decay by a factor at regular intervals.
#ifndef MILLRACE_OPTIM_SCHEDULE_KINDS_STEP_SCHEDULE_H_
#define MILLRACE_OPTIM_SCHEDULE_KINDS_STEP_SCHEDULE_H_

#include <memory>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "optim/schedule/schedule.h"
#include "optim/schedule/schedule_scope.h"
#include "proto/field_errors.h"
#include "proto/schedule.pb.h"

namespace millrace {

// rate(t) = learning_rate × gamma^⌊t / length⌋
// Source: `StepLR` of torch.optim.lr_scheduler.
class StepSchedule : public Schedule {
 public:
  // Functions of the ScheduleMember `step`.
  static void check(absl::string_view where, const ScheduleConfig& config,
                    const ScheduleScope& scope, FieldErrors* errors);
  static absl::StatusOr<std::unique_ptr<Schedule>> create(const ScheduleConfig& config,
                                                          double learning_rate,
                                                          const ScheduleScope& scope);

  double rate_at(double position) const override;

 private:
  StepSchedule(const ScheduleConfig& config, double learning_rate, const ScheduleScope& scope);

  double learning_rate_;
  double gamma_;
  double length_;
};

}  // namespace millrace

#endif  // MILLRACE_OPTIM_SCHEDULE_KINDS_STEP_SCHEDULE_H_
