#include "optim/rows/row_optimizer_factory.h"

#include "optim/rows/row_optimizer_registry.h"
#include "optim/rows/sparse_adagrad.h"
#include "optim/rows/sparse_adam.h"
#include "optim/rows/sparse_adamw.h"
#include "optim/rows/sparse_ftrl.h"
#include "optim/rows/sparse_rowwise_adagrad.h"
#include "optim/rows/sparse_sgd.h"

namespace millrace {

absl::StatusOr<std::unique_ptr<RowOptimizer>> create_row_optimizer(
    const SparseOptimizerConfig& config) {
  switch (config.kind_case()) {
    case SparseOptimizerConfig::kSgd: return SparseSgdOptimizer::create(config.sgd());
    case SparseOptimizerConfig::kAdagrad: return SparseAdagradOptimizer::create(config.adagrad());
    case SparseOptimizerConfig::kRowwiseAdagrad:
      return SparseRowwiseAdagradOptimizer::create(config.rowwise_adagrad());
    case SparseOptimizerConfig::kAdamw: return SparseAdamwOptimizer::create(config.adamw());
    case SparseOptimizerConfig::kFtrl: return SparseFtrlOptimizer::create(config.ftrl());
    case SparseOptimizerConfig::kCustom: return row_optimizer_registry().create(config.custom());
    case SparseOptimizerConfig::kAdam:
    case SparseOptimizerConfig::KIND_NOT_SET: break;
  }
  return SparseAdamOptimizer::create(config.adam());
}

}  // namespace millrace
