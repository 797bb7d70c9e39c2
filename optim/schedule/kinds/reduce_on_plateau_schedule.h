// Reduction of the rate when a metric has stopped improving.
#ifndef MILLRACE_OPTIM_SCHEDULE_KINDS_REDUCE_ON_PLATEAU_SCHEDULE_H_
#define MILLRACE_OPTIM_SCHEDULE_KINDS_REDUCE_ON_PLATEAU_SCHEDULE_H_

#include <memory>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "optim/schedule/schedule.h"
#include "optim/schedule/schedule_scope.h"
#include "proto/field_errors.h"
#include "proto/schedule.pb.h"

namespace millrace {

// For each observed value:
//   1. If the value is better than the best one by the threshold, it is the best, and the number of
//      bad values is 0. Otherwise the number of bad values grows by 1.
//   2. During a cooldown, the number of bad values is 0, and the cooldown is shorter by 1.
//   3. If there are more bad values than `patience`, rate ← max(rate × factor, min_rate), unless
//      this reduces the rate by no more than `epsilon`. The cooldown begins, and the number of bad
//      values is 0.
// The first finite value is the best. A value that is not finite is never better. If the threshold
// is relative and the best value is below 0, worse values count as better; a warning says so once.
// Source: `ReduceLROnPlateau` of torch.optim.lr_scheduler.
class ReduceOnPlateauSchedule : public Schedule {
 public:
  // Functions of the ScheduleMember `reduce_on_plateau`.
  static void check(absl::string_view where, const ScheduleConfig& config,
                    const ScheduleScope& scope, FieldErrors* errors);
  static absl::StatusOr<std::unique_ptr<Schedule>> create(const ScheduleConfig& config,
                                                          double learning_rate,
                                                          const ScheduleScope& scope);

  double rate_at(double position) const override;

  absl::string_view monitor() const override { return config_.monitor(); }
  void observe(double value) override;
  ScheduleState state() const override;
  absl::Status load_state(const ScheduleState& state) override;

 private:
  ReduceOnPlateauSchedule(const ScheduleConfig& config, double learning_rate,
                          const ScheduleScope& scope);

  // True if `value` is better than the best one by the threshold.
  bool improves(double value) const;
  void reduce();

  ReduceOnPlateauScheduleConfig config_;
  double learning_rate_;
  ReduceOnPlateauState state_;  // `factor` is always set
  bool warned_ = false;         // of a value below 0
};

}  // namespace millrace

#endif  // MILLRACE_OPTIM_SCHEDULE_KINDS_REDUCE_ON_PLATEAU_SCHEDULE_H_
