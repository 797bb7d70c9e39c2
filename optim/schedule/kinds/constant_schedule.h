// A rate that does not change.
#ifndef MILLRACE_OPTIM_SCHEDULE_KINDS_CONSTANT_SCHEDULE_H_
#define MILLRACE_OPTIM_SCHEDULE_KINDS_CONSTANT_SCHEDULE_H_

#include <memory>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "optim/schedule/schedule.h"
#include "optim/schedule/schedule_scope.h"
#include "proto/field_errors.h"
#include "proto/schedule.pb.h"

namespace millrace {

// rate(t) = factor × learning_rate
// A part of a chain with a factor equals `ConstantLR` of torch.optim.lr_scheduler.
class ConstantSchedule : public Schedule {
 public:
  // Functions of the ScheduleMember `constant`.
  static void check(absl::string_view where, const ScheduleConfig& config,
                    const ScheduleScope& scope, FieldErrors* errors);
  static absl::StatusOr<std::unique_ptr<Schedule>> create(const ScheduleConfig& config,
                                                          double learning_rate,
                                                          const ScheduleScope& scope);

  double rate_at(double position) const override;
  double end() const override;

 private:
  ConstantSchedule(const ScheduleConfig& config, double learning_rate, const ScheduleScope& scope);

  double rate_;
};

}  // namespace millrace

#endif  // MILLRACE_OPTIM_SCHEDULE_KINDS_CONSTANT_SCHEDULE_H_
