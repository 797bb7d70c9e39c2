#include "optim/rows/row_optimizer_registry.h"

#include "optim/rows/adaptive_optimizers.h"
#include "optim/rows/sparse_sgd.h"
#include "proto/field_errors.h"
#include "proto/range_check.h"

namespace millrace {
namespace {

std::vector<RowOptimizerRegistry::Kind> row_optimizer_kinds() {
  return {
      {SparseOptimizerConfig::kSgd,
       [](const auto& config) { return SparseSgdOptimizer::create(config.sgd()); }},
      {SparseOptimizerConfig::kAdagrad,
       [](const auto& config) { return SparseAdagradOptimizer::create(config.adagrad()); }},
      {SparseOptimizerConfig::kRowwiseAdagrad,
       [](const auto& config) {
         return SparseRowwiseAdagradOptimizer::create(config.rowwise_adagrad());
       }},
      {SparseOptimizerConfig::kAdam,
       [](const auto& config) { return SparseAdamOptimizer::create(config.adam()); }},
      {SparseOptimizerConfig::kAdamw,
       [](const auto& config) { return SparseAdamwOptimizer::create(config.adamw()); }},
      {SparseOptimizerConfig::kFtrl,
       [](const auto& config) { return SparseFtrlOptimizer::create(config.ftrl()); }},
  };
}

}  // namespace

MILLRACE_PART_FAMILY(row_optimizer, RowOptimizerRegistry, "row optimizer",
                     "sparse_optimizer { custom { name: \"NAME\" } }", "kind",
                     row_optimizer_kinds(), SparseOptimizerConfig::kAdam);

absl::Status check_sparse_optimizer(absl::string_view where, const SparseOptimizerConfig& config) {
  return all_errors({check_ranges(where, config), row_optimizer_registry().check(where, config)});
}

absl::StatusOr<std::unique_ptr<RowOptimizer>> create_row_optimizer(
    const SparseOptimizerConfig& config) {
  return row_optimizer_registry().create(config);
}

}  // namespace millrace
