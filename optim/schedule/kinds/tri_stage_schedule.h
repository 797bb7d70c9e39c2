// Linear increase, constant rate, exponential decay.
#ifndef MILLRACE_OPTIM_SCHEDULE_KINDS_TRI_STAGE_SCHEDULE_H_
#define MILLRACE_OPTIM_SCHEDULE_KINDS_TRI_STAGE_SCHEDULE_H_

#include <memory>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "optim/schedule/schedule.h"
#include "optim/schedule/schedule_scope.h"
#include "optim/schedule/warmup.h"
#include "proto/field_errors.h"
#include "proto/schedule.pb.h"

namespace millrace {

// Computes the rate at position t from the length L, the end of the warm-up W = warmup_ratio × L,
// and the start of the decay D = W + hold_ratio × L:
//   rate(t) = learning_rate × Warmup(t)                                     for t < W
//   rate(t) = learning_rate                                                 for t < D
//   rate(t) = learning_rate × final_factor^((t − D) / (L − D))              for t < L
//   rate(t) = learning_rate × final_factor                                  for t >= L
// Source: `TriStageLR` of fairseq2, which rounds each stage down to whole steps; this class does
// not.
class TriStageSchedule : public Schedule {
 public:
  // Functions of the ScheduleMember `tri_stage`.
  static void check(absl::string_view where, const ScheduleConfig& config,
                    const ScheduleScope& scope, FieldErrors* errors);
  static absl::StatusOr<std::unique_ptr<Schedule>> create(const ScheduleConfig& config,
                                                          double learning_rate,
                                                          const ScheduleScope& scope);

  double rate_at(double position) const override;
  double end() const override;

 private:
  TriStageSchedule(const ScheduleConfig& config, double learning_rate, const ScheduleScope& scope);

  double learning_rate_;
  Warmup warmup_;
  double decay_start_;
  double length_;
  double final_factor_;
};

}  // namespace millrace

#endif  // MILLRACE_OPTIM_SCHEDULE_KINDS_TRI_STAGE_SCHEDULE_H_
