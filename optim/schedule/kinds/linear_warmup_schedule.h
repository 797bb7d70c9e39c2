// A linear increase to the learning rate.
#ifndef MILLRACE_OPTIM_SCHEDULE_KINDS_LINEAR_WARMUP_SCHEDULE_H_
#define MILLRACE_OPTIM_SCHEDULE_KINDS_LINEAR_WARMUP_SCHEDULE_H_

#include <memory>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "optim/schedule/schedule.h"
#include "optim/schedule/schedule_scope.h"
#include "optim/schedule/warmup.h"
#include "proto/field_errors.h"
#include "proto/schedule.pb.h"

namespace millrace {

// Computes the rate at position t from the length W:
//   rate(t) = learning_rate × (start_factor + (1 − start_factor) × t / W)   for t < W
//   rate(t) = learning_rate                                                 for t >= W
// Source: `LinearLR` of torch.optim.lr_scheduler with end_factor 1.
class LinearWarmupSchedule : public Schedule {
 public:
  // Functions of the ScheduleMember `linear_warmup`.
  static void check(absl::string_view where, const ScheduleConfig& config,
                    const ScheduleScope& scope, FieldErrors* errors);
  static absl::StatusOr<std::unique_ptr<Schedule>> create(const ScheduleConfig& config,
                                                          double learning_rate,
                                                          const ScheduleScope& scope);

  double rate_at(double position) const override;
  double end() const override;

 private:
  LinearWarmupSchedule(const ScheduleConfig& config, double learning_rate,
                       const ScheduleScope& scope);

  double learning_rate_;
  Warmup warmup_;
};

}  // namespace millrace

#endif  // MILLRACE_OPTIM_SCHEDULE_KINDS_LINEAR_WARMUP_SCHEDULE_H_
