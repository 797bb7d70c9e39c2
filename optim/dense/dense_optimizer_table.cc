#include "optim/dense/dense_optimizer_table.h"

#include "optim/dense/adamw_tf_optimizer.h"
#include "optim/dense/lamb_optimizer.h"
#include "optim/dense/rmsprop_optimizer.h"
#include "optim/dense/torch_optimizer.h"

namespace millrace {
namespace {

constexpr DenseOptimizerMember kMembers[] = {
    {DenseOptimizerConfig::kSgd, &create_sgd},
    {DenseOptimizerConfig::kAdagrad, &create_adagrad},
    {DenseOptimizerConfig::kAdam, &create_adam},
    {DenseOptimizerConfig::kAdamw, &create_adamw},
    {DenseOptimizerConfig::kAdamwTf, &AdamwTfOptimizer::create},
    {DenseOptimizerConfig::kRmsprop, &RmspropOptimizer::create},
    {DenseOptimizerConfig::kLamb, &LambOptimizer::create},
};

}  // namespace

absl::Span<const DenseOptimizerMember> dense_optimizer_table() { return kMembers; }

}  // namespace millrace
