// Polynomial decay with warm-up.
#ifndef MILLRACE_OPTIM_SCHEDULE_KINDS_POLYNOMIAL_SCHEDULE_H_
#define MILLRACE_OPTIM_SCHEDULE_KINDS_POLYNOMIAL_SCHEDULE_H_

#include <memory>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "optim/schedule/schedule.h"
#include "optim/schedule/schedule_scope.h"
#include "optim/schedule/warmup.h"
#include "proto/field_errors.h"
#include "proto/schedule.pb.h"

namespace millrace {

// Computes the rate at position t from the warm-up W and the length L:
//   rate(t) = learning_rate × Warmup(t)                                            for t < W
//   rate(t) = learning_rate × (final_factor + (1 − final_factor) × ((L − t) / (L − W))^power)
//   rate(t) = learning_rate × final_factor                                         for t >= L
// Sources: `PolynomialDecayLR` of fairseq2; `PolynomialLR` of torch.optim.lr_scheduler, which has
// no warm-up and final_factor 0.
class PolynomialSchedule : public Schedule {
 public:
  // Functions of the ScheduleMember `polynomial`.
  static void check(absl::string_view where, const ScheduleConfig& config,
                    const ScheduleScope& scope, FieldErrors* errors);
  static absl::StatusOr<std::unique_ptr<Schedule>> create(const ScheduleConfig& config,
                                                          double learning_rate,
                                                          const ScheduleScope& scope);

  double rate_at(double position) const override;
  double end() const override;

 private:
  PolynomialSchedule(const ScheduleConfig& config, double learning_rate,
                     const ScheduleScope& scope);

  double learning_rate_;
  Warmup warmup_;
  double length_;
  double power_;
  double final_factor_;
};

}  // namespace millrace

#endif  // MILLRACE_OPTIM_SCHEDULE_KINDS_POLYNOMIAL_SCHEDULE_H_
