// AdamW as TensorFlow has it.
#ifndef MILLRACE_OPTIM_DENSE_ADAMW_TF_OPTIMIZER_H_
#define MILLRACE_OPTIM_DENSE_ADAMW_TF_OPTIMIZER_H_

#include <memory>
#include <vector>

#include "optim/dense/slot_optimizer.h"
#include "proto/config.pb.h"

namespace millrace {

// w ← w − rate × weight_decay × w
// m ← beta1 m + (1 − beta1) g;  v ← beta2 v + (1 − beta2) g²
// w ← w − rate × √(1 − beta2ᵗ) / (1 − beta1ᵗ) × m / (√v + epsilon)
// Sources: `Adam` and `AdamW` of Keras (github.com/keras-team/keras, keras/src/optimizers/adam.py
// and base_optimizer.py), whose step is that of tf.train.AdamOptimizer
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

}  // namespace millrace

#endif  // MILLRACE_OPTIM_DENSE_ADAMW_TF_OPTIMIZER_H_
