// Row optimizers from their configuration.
#ifndef MILLRACE_OPTIM_ROWS_ROW_OPTIMIZER_FACTORY_H_
#define MILLRACE_OPTIM_ROWS_ROW_OPTIMIZER_FACTORY_H_

#include <memory>

#include "absl/status/statusor.h"
#include "embedding/rows/row_optimizer.h"
#include "proto/config.pb.h"

namespace millrace {

// Creates the optimizer that `config` chooses, by default Adam. Ignores the learning rate. Errors:
// InvalidArgument naming the field that is out of range; as row_optimizer_registry().create().
absl::StatusOr<std::unique_ptr<RowOptimizer>> create_row_optimizer(
    const SparseOptimizerConfig& config);

}  // namespace millrace

#endif  // MILLRACE_OPTIM_ROWS_ROW_OPTIMIZER_FACTORY_H_
