// Decay by the inverse square root of the position, known as Noam.
#ifndef MILLRACE_OPTIM_SCHEDULE_KINDS_INVERSE_SQUARE_ROOT_SCHEDULE_H_
#define MILLRACE_OPTIM_SCHEDULE_KINDS_INVERSE_SQUARE_ROOT_SCHEDULE_H_

#include <memory>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "optim/schedule/schedule.h"
#include "optim/schedule/schedule_scope.h"
#include "proto/field_errors.h"
#include "proto/schedule.pb.h"

namespace millrace {

// Computes the rate at position t from the warm-up W:
//   rate(t) = learning_rate × t × W^(−1.5)   for t < W
//   rate(t) = learning_rate × t^(−0.5)       for t >= W and t >= 1
//   rate(t) = learning_rate                  for t < 1 without a warm-up
// Sources: Vaswani et al., Attention Is All You Need (arXiv:1706.03762), section 5.3; `NoamLR` of
// fairseq2.
class InverseSquareRootSchedule : public Schedule {
 public:
  // Functions of the ScheduleMember `inverse_square_root`.
  static void check(absl::string_view where, const ScheduleConfig& config,
                    const ScheduleScope& scope, FieldErrors* errors);
  static absl::StatusOr<std::unique_ptr<Schedule>> create(const ScheduleConfig& config,
                                                          double learning_rate,
                                                          const ScheduleScope& scope);

  double rate_at(double position) const override;

 private:
  InverseSquareRootSchedule(const ScheduleConfig& config, double learning_rate,
                            const ScheduleScope& scope);

  double learning_rate_;
  double warmup_length_;
};

}  // namespace millrace

#endif  // MILLRACE_OPTIM_SCHEDULE_KINDS_INVERSE_SQUARE_ROOT_SCHEDULE_H_
