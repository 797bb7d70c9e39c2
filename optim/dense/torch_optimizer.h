// Dense optimizers of LibTorch.
#ifndef MILLRACE_OPTIM_DENSE_TORCH_OPTIMIZER_H_
#define MILLRACE_OPTIM_DENSE_TORCH_OPTIMIZER_H_

#include <memory>
#include <vector>

#include "optim/dense/dense_optimizer.h"
#include "optim/dense/named_parameter.h"
#include "optim/schedule/schedule.h"
#include "proto/config.pb.h"

namespace millrace {

// Return optimizers with the formulas of torch::optim::SGD, Adagrad, Adam and AdamW. REQUIRES:
// check_dense_optimizer() accepts `config`, which has the kind of the function; create_adam() also
// accepts a `config` without a kind.
std::unique_ptr<DenseOptimizer> create_sgd(const DenseOptimizerConfig& config,
                                           std::vector<NamedParameter> parameters,
                                           std::unique_ptr<Schedule> schedule);
std::unique_ptr<DenseOptimizer> create_adagrad(const DenseOptimizerConfig& config,
                                               std::vector<NamedParameter> parameters,
                                               std::unique_ptr<Schedule> schedule);
std::unique_ptr<DenseOptimizer> create_adam(const DenseOptimizerConfig& config,
                                            std::vector<NamedParameter> parameters,
                                            std::unique_ptr<Schedule> schedule);
std::unique_ptr<DenseOptimizer> create_adamw(const DenseOptimizerConfig& config,
                                             std::vector<NamedParameter> parameters,
                                             std::unique_ptr<Schedule> schedule);

}  // namespace millrace

#endif  // MILLRACE_OPTIM_DENSE_TORCH_OPTIMIZER_H_
