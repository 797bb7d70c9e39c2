#include "optim/dense/lamb_optimizer.h"

#include <ATen/ATen.h>

#include <cmath>
#include <utility>

namespace millrace {

std::unique_ptr<DenseOptimizer> LambOptimizer::create(const DenseOptimizerConfig& config,
                                                      std::vector<NamedParameter> parameters,
                                                      std::unique_ptr<Schedule> schedule) {
  return std::unique_ptr<DenseOptimizer>(
      new LambOptimizer(config.lamb(), std::move(parameters), std::move(schedule)));
}

LambOptimizer::LambOptimizer(const Lamb& config, std::vector<NamedParameter> parameters,
                             std::unique_ptr<Schedule> schedule)
    : SlotOptimizer({"exp_avg", "exp_avg_sq"}, std::move(parameters), std::move(schedule)),
      config_(config) {}

void LambOptimizer::update(const Update& update, at::Tensor& weight) const {
  at::Tensor& mean = update.slots[0];
  at::Tensor& square = update.slots[1];
  const auto t = static_cast<double>(update.step);
  mean.mul_(config_.beta1()).add_(update.gradient, 1 - config_.beta1());
  square.mul_(config_.beta2()).addcmul_(update.gradient, update.gradient, 1 - config_.beta2());
  const at::Tensor divisor =
      square.div(1 - std::pow(config_.beta2(), t)).sqrt_().add_(config_.epsilon());
  at::Tensor direction = mean.div(1 - std::pow(config_.beta1(), t)).div_(divisor);
  if (config_.weight_decay() != 0) direction.add_(weight, config_.weight_decay());

  // Norms remain tensors: reading their values would wait for an accelerator in each step.
  at::Tensor weight_norm = weight.norm();
  if (config_.max_weight_norm() > 0) weight_norm.clamp_max_(config_.max_weight_norm());
  const at::Tensor norm = direction.norm();
  const at::Tensor ratio = at::where(weight_norm.gt(0).logical_and(norm.gt(0)),
                                     weight_norm.div(norm), at::ones_like(norm));
  weight.sub_(direction.mul_(ratio.mul(update.rate)));
}

}  // namespace millrace
