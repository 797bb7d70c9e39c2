#include "optim/dense/dense_optimizer_registry.h"

#include "optim/dense/slot_optimizer_kinds.h"
#include "optim/dense/torch_optimizer.h"

namespace millrace {
namespace {

std::vector<DenseOptimizerRegistry::Kind> dense_optimizer_kinds() {
  return {
      {DenseOptimizerConfig::kSgd, &create_sgd},
      {DenseOptimizerConfig::kAdagrad, &create_adagrad},
      {DenseOptimizerConfig::kAdam, &create_adam},
      {DenseOptimizerConfig::kAdamw, &create_adamw},
      {DenseOptimizerConfig::kAdamwTf, &AdamwTfOptimizer::create},
      {DenseOptimizerConfig::kRmsprop, &RmspropOptimizer::create},
      {DenseOptimizerConfig::kLamb, &LambOptimizer::create},
  };
}

}  // namespace

MILLRACE_PART_FAMILY(dense_optimizer, DenseOptimizerRegistry, "dense optimizer",
                     "optimizer { custom { name: \"NAME\" } }", "kind", dense_optimizer_kinds(),
                     DenseOptimizerConfig::kAdam);

}  // namespace millrace
