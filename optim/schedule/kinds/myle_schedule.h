// Inverse square root that reaches the learning rate.
#ifndef MILLRACE_OPTIM_SCHEDULE_KINDS_MYLE_SCHEDULE_H_
#define MILLRACE_OPTIM_SCHEDULE_KINDS_MYLE_SCHEDULE_H_

#include <memory>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "optim/schedule/schedule.h"
#include "optim/schedule/schedule_scope.h"
#include "optim/schedule/warmup.h"
#include "proto/field_errors.h"
#include "proto/schedule.pb.h"

namespace millrace {

// Computes the rate at position t from the warm-up W:
//   rate(t) = learning_rate × Warmup(t)      for t < W
//   rate(t) = learning_rate × √(W / t)       for t >= W
// Sources: `MyleLR` of fairseq2, which names it after its author in fairseq.
class MyleSchedule : public Schedule {
 public:
  // Functions of the ScheduleMember `myle`.
  static void check(absl::string_view where, const ScheduleConfig& config,
                    const ScheduleScope& scope, FieldErrors* errors);
  static absl::StatusOr<std::unique_ptr<Schedule>> create(const ScheduleConfig& config,
                                                          double learning_rate,
                                                          const ScheduleScope& scope);

  double rate_at(double position) const override;

 private:
  MyleSchedule(const ScheduleConfig& config, double learning_rate, const ScheduleScope& scope);

  double learning_rate_;
  Warmup warmup_;
};

}  // namespace millrace

#endif  // MILLRACE_OPTIM_SCHEDULE_KINDS_MYLE_SCHEDULE_H_
