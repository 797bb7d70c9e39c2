// Steps divided by a running root mean square of the gradient.
#ifndef MILLRACE_OPTIM_DENSE_RMSPROP_OPTIMIZER_H_
#define MILLRACE_OPTIM_DENSE_RMSPROP_OPTIMIZER_H_

#include <memory>
#include <vector>

#include "optim/dense/slot_optimizer.h"
#include "proto/config.pb.h"

namespace millrace {

// d = g + weight_decay × w
// v ← alpha v + (1 − alpha) d²
// a = √v, or if `centered`: e ← alpha e + (1 − alpha) d;  a = √(v − e²)
// w ← w − rate × d / (a + epsilon), or with momentum: b ← momentum × b + d / (a + epsilon);
// w ← w − rate × b
// Source: torch.optim.RMSprop. As there, `centered` needs gradients that vary: after hundreds of
// steps with one and the same gradient v − e² is a rounding error, steps are huge, and a negative
// difference makes the weight not a number.
// Slots: square_avg (v), with momentum momentum_buffer (b), if `centered` grad_avg (e).
class RmspropOptimizer : public SlotOptimizer {
 public:
  // REQUIRES: check_dense_optimizer() accepts `config`, whose kind is `rmsprop`.
  static std::unique_ptr<DenseOptimizer> create(const DenseOptimizerConfig& config,
                                                std::vector<NamedParameter> parameters,
                                                std::unique_ptr<Schedule> schedule);

 private:
  RmspropOptimizer(const Rmsprop& config, std::vector<NamedParameter> parameters,
                   std::unique_ptr<Schedule> schedule);
  void update(const Update& update, at::Tensor& weight) const override;

  const Rmsprop config_;
};

}  // namespace millrace

#endif  // MILLRACE_OPTIM_DENSE_RMSPROP_OPTIMIZER_H_
