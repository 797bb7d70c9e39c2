// Cosine annealing with warm-up and restarts.
#ifndef MILLRACE_OPTIM_SCHEDULE_KINDS_COSINE_SCHEDULE_H_
#define MILLRACE_OPTIM_SCHEDULE_KINDS_COSINE_SCHEDULE_H_

#include <memory>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "optim/schedule/schedule.h"
#include "optim/schedule/schedule_scope.h"
#include "optim/schedule/warmup.h"
#include "proto/field_errors.h"
#include "proto/schedule.pb.h"

namespace millrace {

// Computes the rate at position t from the warm-up W and cycles i = 0, 1, …. Cycle i is
// L × cycle_multiplier^i long, where L = length − W. If the share u of cycle i is done, and
// h = (1 + cos πu) / 2:
//   rate(t) = learning_rate × Warmup(t)                                              for t < W
//   rate(t) = learning_rate × cycle_decay^i × (final_factor + (1 − final_factor) × h)
// After the last cycle the rate stays at its end, learning_rate × cycle_decay^i × final_factor.
//
// Sources: Loshchilov and Hutter, SGDR (arXiv:1608.03983); `CosineAnnealingLR` until its T_max, and
// `CosineAnnealingWarmRestarts`, of torch.optim.lr_scheduler; `CosineAnnealingLR` of fairseq2,
// whose cycle_len is L, cycle_mul is cycle_multiplier and lr_mul is cycle_decay. fairseq2 rounds
// the lengths of cycles down to whole steps; this class does not.
class CosineSchedule : public Schedule {
 public:
  // Functions of the ScheduleMember `cosine`.
  static void check(absl::string_view where, const ScheduleConfig& config,
                    const ScheduleScope& scope, FieldErrors* errors);
  static absl::StatusOr<std::unique_ptr<Schedule>> create(const ScheduleConfig& config,
                                                          double learning_rate,
                                                          const ScheduleScope& scope);

  double rate_at(double position) const override;
  double end() const override;

 private:
  CosineSchedule(const ScheduleConfig& config, double learning_rate, const ScheduleScope& scope);

  // A cycle: its number, and the share of it that is done.
  struct Point {
    double cycle = 0;
    double share = 0;
  };
  // Returns the point at `time` after the warm-up. At the border of two cycles the later one
  // begins.
  Point point_at(double time) const;
  // Returns the start of a cycle after the warm-up.
  double start_of(double cycle) const;

  double learning_rate_;
  Warmup warmup_;
  double length_;  // of the first cycle without the warm-up
  double final_factor_;
  double cycles_;  // infinity: no end
  double multiplier_;
  double decay_;
};

}  // namespace millrace

#endif  // MILLRACE_OPTIM_SCHEDULE_KINDS_COSINE_SCHEDULE_H_
