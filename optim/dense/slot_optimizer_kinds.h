// Optimizers over slots: AdamW of TensorFlow, LAMB and RMSprop.
#ifndef MILLRACE_OPTIM_DENSE_SLOT_OPTIMIZER_KINDS_H_
#define MILLRACE_OPTIM_DENSE_SLOT_OPTIMIZER_KINDS_H_

#include <memory>
#include <vector>

#include "optim/dense/slot_optimizer.h"
#include "proto/config.pb.h"

namespace millrace {

//   w ← w − rate × weight_decay × w
//   m ← beta1 m + (1 − beta1) g;  v ← beta2 v + (1 − beta2) g²
//   w ← w − rate × √(1 − beta2ᵗ) / (1 − beta1ᵗ) × m / (√v + epsilon)
// Sources: `Adam` and `AdamW` of Keras (github.com/keras-team/keras, keras/src/optimizers/adam.py
// and base_optimizer.py), which make the step of tf.train.AdamOptimizer
// (tensorflow/python/training/adam.py). AdamWTF of RecIS (github.com/alibaba/RecIS,
// recis/optim/adamw_tf.py) and AdamW of TensorFlow Addons have the same step, but subtract
// weight_decay × w without the rate. torch.optim.AdamW adds epsilon after the bias correction.
// Slots: exp_avg (m), exp_avg_sq (v).
class AdamwTfOptimizer : public SlotOptimizer {
 public:
  // REQUIRES: check_dense_optimizer() accepts `config`, whose kind is `adamw_tf`.
  static std::unique_ptr<DenseOptimizer> create(const DenseOptimizerConfig& config,
                                                std::vector<NamedParameter> parameters,
                                                std::unique_ptr<Schedule> schedule);

 private:
  AdamwTfOptimizer(const Adam& config, std::vector<NamedParameter> parameters,
                   std::unique_ptr<Schedule> schedule);
  void update(const Update& update, at::Tensor& weight) const override;

  const Adam config_;
};

//   m ← beta1 m + (1 − beta1) g;  v ← beta2 v + (1 − beta2) g²
//   u = (m / (1 − beta1ᵗ)) / (√(v / (1 − beta2ᵗ)) + epsilon) + weight_decay × w
//   w ← w − rate × φ(‖w‖) / ‖u‖ × u
// with L2 norms over the whole parameter and φ(z) = min(z, max_weight_norm). The ratio is 1 where a
// norm is 0, so that a parameter of zeros learns. Source: You et al., "Large Batch Optimization for
// Deep Learning", arXiv:1904.00962, algorithm 2. The paper leaves the ratio of norms of 0 open; 1
// is the ratio of Keras (github.com/keras-team/keras, keras/src/optimizers/lamb.py). Slots: exp_avg
// (m), exp_avg_sq (v).
class LambOptimizer : public SlotOptimizer {
 public:
  // REQUIRES: check_dense_optimizer() accepts `config`, whose kind is `lamb`.
  static std::unique_ptr<DenseOptimizer> create(const DenseOptimizerConfig& config,
                                                std::vector<NamedParameter> parameters,
                                                std::unique_ptr<Schedule> schedule);

 private:
  LambOptimizer(const Lamb& config, std::vector<NamedParameter> parameters,
                std::unique_ptr<Schedule> schedule);
  void update(const Update& update, at::Tensor& weight) const override;

  const Lamb config_;
};

//   d = g + weight_decay × w
//   v ← alpha v + (1 − alpha) d²
//   a = √v, or if `centered`: e ← alpha e + (1 − alpha) d;  a = √(v − e²)
//   w ← w − rate × d / (a + epsilon), or with momentum: b ← momentum × b + d / (a + epsilon);
//   w ← w − rate × b
// Source: torch.optim.RMSprop. As in torch.optim.RMSprop, `centered` needs gradients that vary:
// after hundreds of steps with the same gradient, v − e² is a rounding error, steps are huge, and a
// negative difference makes the weight NaN. Slots: square_avg (v), with momentum momentum_buffer
// (b), if `centered` grad_avg (e).
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

#endif  // MILLRACE_OPTIM_DENSE_SLOT_OPTIMIZER_KINDS_H_
