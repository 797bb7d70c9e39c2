#include "optim/row_optimizer_factory.h"

#include "optim/sparse_adagrad.h"
#include "optim/sparse_adam.h"
#include "optim/sparse_rowwise_adagrad.h"
#include "optim/sparse_sgd.h"

namespace millrace {

absl::StatusOr<std::unique_ptr<RowOptimizer>> create_row_optimizer(
    const SparseOptimizerConfig& config) {
  switch (config.kind_case()) {
    case SparseOptimizerConfig::kSgd:
      return std::make_unique<SparseSgdOptimizer>();
    case SparseOptimizerConfig::kAdagrad:
      return SparseAdagradOptimizer::create(config.adagrad());
    case SparseOptimizerConfig::kRowwiseAdagrad:
      return SparseRowwiseAdagradOptimizer::create(config.rowwise_adagrad());
    case SparseOptimizerConfig::kAdam:
    case SparseOptimizerConfig::KIND_NOT_SET:
      break;
  }
  return SparseAdamOptimizer::create(config.adam());
}

}  // namespace millrace
