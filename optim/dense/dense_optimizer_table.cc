#include "optim/dense/dense_optimizer_table.h"

#include <utility>

#include "optim/dense/adamw_tf_optimizer.h"
#include "optim/dense/dense_optimizer_registry.h"
#include "optim/dense/lamb_optimizer.h"
#include "optim/dense/rmsprop_optimizer.h"
#include "optim/dense/torch_optimizer.h"

namespace millrace {
namespace {

// Adapts the function of a kind that cannot fail.
template <auto create>
absl::StatusOr<std::unique_ptr<DenseOptimizer>> built_in(const DenseOptimizerConfig& config,
                                                         std::vector<NamedParameter> parameters,
                                                         std::unique_ptr<Schedule> schedule) {
  return create(config, std::move(parameters), std::move(schedule));
}

absl::StatusOr<std::unique_ptr<DenseOptimizer>> create_custom(
    const DenseOptimizerConfig& config, std::vector<NamedParameter> parameters,
    std::unique_ptr<Schedule> schedule) {
  return dense_optimizer_registry().create(config.custom(), std::move(parameters),
                                           std::move(schedule));
}

constexpr DenseOptimizerMember kMembers[] = {
    {DenseOptimizerConfig::kSgd, &built_in<&create_sgd>},
    {DenseOptimizerConfig::kAdagrad, &built_in<&create_adagrad>},
    {DenseOptimizerConfig::kAdam, &built_in<&create_adam>},
    {DenseOptimizerConfig::kAdamw, &built_in<&create_adamw>},
    {DenseOptimizerConfig::kAdamwTf, &built_in<&AdamwTfOptimizer::create>},
    {DenseOptimizerConfig::kRmsprop, &built_in<&RmspropOptimizer::create>},
    {DenseOptimizerConfig::kLamb, &built_in<&LambOptimizer::create>},
    {DenseOptimizerConfig::kCustom, &create_custom},
};

}  // namespace

absl::Span<const DenseOptimizerMember> dense_optimizer_table() { return kMembers; }

}  // namespace millrace
