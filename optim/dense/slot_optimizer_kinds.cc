#include "optim/dense/slot_optimizer_kinds.h"

#include <ATen/ATen.h>

#include <cmath>
#include <string>
#include <utility>

#include "optim/dense/tensor_norm.h"

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
  at::Tensor weight_norm = sum_of_squares(weight).sqrt_();
  if (config_.max_weight_norm() > 0) weight_norm.clamp_max_(config_.max_weight_norm());
  const at::Tensor norm = sum_of_squares(direction).sqrt_();
  const at::Tensor ratio = at::where(weight_norm.gt(0).logical_and(norm.gt(0)),
                                     weight_norm.div(norm), at::ones_like(norm));
  weight.sub_(direction.mul_(ratio.mul(update.rate)));
}

namespace {

std::vector<std::string> slots_of(const Rmsprop& config) {
  std::vector<std::string> slots = {"square_avg"};
  if (config.momentum() > 0) slots.emplace_back("momentum_buffer");
  if (config.centered()) slots.emplace_back("grad_avg");
  return slots;
}

}  // namespace

std::unique_ptr<DenseOptimizer> RmspropOptimizer::create(const DenseOptimizerConfig& config,
                                                         std::vector<NamedParameter> parameters,
                                                         std::unique_ptr<Schedule> schedule) {
  return std::unique_ptr<DenseOptimizer>(
      new RmspropOptimizer(config.rmsprop(), std::move(parameters), std::move(schedule)));
}

RmspropOptimizer::RmspropOptimizer(const Rmsprop& config, std::vector<NamedParameter> parameters,
                                   std::unique_ptr<Schedule> schedule)
    : SlotOptimizer(slots_of(config), std::move(parameters), std::move(schedule)),
      config_(config) {}

void RmspropOptimizer::update(const Update& update, at::Tensor& weight) const {
  at::Tensor gradient = update.gradient;
  if (config_.weight_decay() != 0) gradient = gradient.add(weight, config_.weight_decay());
  at::Tensor& square = update.slots.front();
  square.mul_(config_.alpha()).addcmul_(gradient, gradient, 1 - config_.alpha());
  at::Tensor divisor;
  if (config_.centered()) {
    at::Tensor& mean = update.slots.back();
    mean.mul_(config_.alpha()).add_(gradient, 1 - config_.alpha());
    divisor = square.addcmul(mean, mean, -1).sqrt_();
  } else {
    divisor = square.sqrt();
  }
  divisor.add_(config_.epsilon());
  if (config_.momentum() > 0) {
    at::Tensor& buffer = update.slots[1];
    buffer.mul_(config_.momentum()).addcdiv_(gradient, divisor);
    weight.add_(buffer, -update.rate);
  } else {
    weight.addcdiv_(gradient, divisor, -update.rate);
  }
}

}  // namespace millrace
