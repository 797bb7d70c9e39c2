// Layer-wise learning rates for large batches.
#ifndef MILLRACE_OPTIM_DENSE_LAMB_OPTIMIZER_H_
#define MILLRACE_OPTIM_DENSE_LAMB_OPTIMIZER_H_

#include <memory>
#include <vector>

#include "optim/dense/slot_optimizer.h"
#include "proto/config.pb.h"

namespace millrace {

// m ← beta1 m + (1 − beta1) g;  v ← beta2 v + (1 − beta2) g²
// u = (m / (1 − beta1ᵗ)) / (√(v / (1 − beta2ᵗ)) + epsilon) + weight_decay × w
// w ← w − rate × φ(‖w‖) / ‖u‖ × u
// with L2 norms over the whole parameter, φ(z) = min(z, max_weight_norm), and the ratio 1 where a
// norm is 0, so that a parameter of zeros learns. Source: You et al., "Large Batch Optimization for
// Deep Learning", arXiv:1904.00962, algorithm 2. The paper leaves the ratio of norms of 0 open; 1
// is that of Keras (github.com/keras-team/keras, keras/src/optimizers/lamb.py). Slots: exp_avg (m),
// exp_avg_sq (v).
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

}  // namespace millrace

#endif  // MILLRACE_OPTIM_DENSE_LAMB_OPTIMIZER_H_
