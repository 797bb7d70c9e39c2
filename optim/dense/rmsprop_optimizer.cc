#include "optim/dense/rmsprop_optimizer.h"

#include <ATen/ATen.h>

#include <string>
#include <utility>

namespace millrace {
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
