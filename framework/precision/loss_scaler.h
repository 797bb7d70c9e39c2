// Checks of train.precision, and the scale of losses.
#ifndef MILLRACE_FRAMEWORK_PRECISION_LOSS_SCALER_H_
#define MILLRACE_FRAMEWORK_PRECISION_LOSS_SCALER_H_

#include <cstdint>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "checkpoint/state/checkpointable.h"
#include "proto/config.pb.h"

namespace millrace {

// Determines the factor by which losses are multiplied before their backward pass, so that
// gradients in float16 neither become 0 nor overflow. Gradients are divided by the same factor
// afterwards.
//
// An applied step is clean. After growth_interval successive clean steps the scale is multiplied by
// growth_factor, unless the result would leave the range of float32. An overflow multiplies the
// scale by backoff_factor, but not below `min`. If a step is finally refused, the scale of its
// beginning is restored, because no scale would have helped. The rule follows torch.amp.GradScaler
// except for the minimum, the refused step, and the repetition of a batch after an overflow.
//
// All ranks observe the same steps and overflows, so all have the same scale. Used on the trainer's
// thread.
class LossScaler : public Checkpointable {
 public:
  // REQUIRES: check_precision() accepts `config`.
  explicit LossScaler(const LossScaleConfig& config);

  // Returns the factor of the next backward pass.
  double scale() const { return scale_; }
  // Returns true if an overflow no longer lowers the scale.
  bool is_lowest() const { return scale_ <= config_.min(); }
  // Records that the step was applied.
  void add_clean_step();
  // Records that gradients overflowed, so that the step is repeated. REQUIRES: !is_lowest().
  void add_overflow();
  // Records that the step was refused. `scale`: the scale at its beginning.
  void add_refused_step(double scale);

  absl::Status save_state(ObjectState& state) const override;
  // Restores the scale. Without a state, the scale is the initial one. A scale below `min` becomes
  // `min`. Errors: InvalidArgument for a damaged state or a state of another version.
  absl::Status load_state(absl::Span<const ObjectState> per_rank) override;

 private:
  const LossScaleConfig config_;
  double scale_;
  int64_t clean_steps_ = 0;  // since the last change of the scale
};

// Checks a PrecisionConfig. Errors: InvalidArgument that begins with `where`, the place of
// `config`, and names all wrong fields: numbers out of range, and loss_scale without FLOAT16.
absl::Status check_precision(absl::string_view where, const PrecisionConfig& config);

}  // namespace millrace

#endif  // MILLRACE_FRAMEWORK_PRECISION_LOSS_SCALER_H_
