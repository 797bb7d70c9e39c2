#include "optim/dense/adamw_tf_optimizer.h"

#include <ATen/ATen.h>

#include <cmath>
#include <utility>

namespace millrace {

std::unique_ptr<DenseOptimizer> AdamwTfOptimizer::create(const DenseOptimizerConfig& config,
                                                         std::vector<NamedParameter> parameters,
                                                         std::unique_ptr<Schedule> schedule) {
  return std::unique_ptr<DenseOptimizer>(
      new AdamwTfOptimizer(config.adamw_tf(), std::move(parameters), std::move(schedule)));
}

AdamwTfOptimizer::AdamwTfOptimizer(const Adam& config, std::vector<NamedParameter> parameters,
                                   std::unique_ptr<Schedule> schedule)
    : SlotOptimizer({"exp_avg", "exp_avg_sq"}, std::move(parameters), std::move(schedule)),
      config_(config) {}

void AdamwTfOptimizer::update(const Update& update, at::Tensor& weight) const {
  at::Tensor& mean = update.slots[0];
  at::Tensor& square = update.slots[1];
  const auto t = static_cast<double>(update.step);
  if (config_.weight_decay() != 0) weight.mul_(1 - update.rate * config_.weight_decay());
  mean.mul_(config_.beta1()).add_(update.gradient, 1 - config_.beta1());
  square.mul_(config_.beta2()).addcmul_(update.gradient, update.gradient, 1 - config_.beta2());
  const double rate = update.rate * std::sqrt(1 - std::pow(config_.beta2(), t)) /
                      (1 - std::pow(config_.beta1(), t));
  weight.addcdiv_(mean, square.sqrt().add_(config_.epsilon()), -rate);
}

}  // namespace millrace
