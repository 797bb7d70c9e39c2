// Row optimizers from their configuration.
#ifndef MILLRACE_OPTIM_ROWS_ROW_OPTIMIZER_REGISTRY_H_
#define MILLRACE_OPTIM_ROWS_ROW_OPTIMIZER_REGISTRY_H_

#include <functional>
#include <memory>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "embedding/rows/row_optimizer.h"
#include "proto/config.pb.h"
#include "proto/parts/kind_registry.h"

namespace millrace {

// Creates a row optimizer. `config` has the extension that the optimizer reads. Tables pass the
// learning rate to update().
using RowOptimizerFactory =
    std::function<absl::StatusOr<std::unique_ptr<RowOptimizer>>(const CustomConfig& config)>;

using RowOptimizerRegistry = KindRegistry<SparseOptimizerConfig, RowOptimizerFactory>;

// Returns the registry of row optimizers, which also has the built-in kinds.
RowOptimizerRegistry& row_optimizer_registry();

// Checks the learning rate, and the numbers, with their ranges, or the name of the chosen kind.
// Errors: InvalidArgument that begins with `where`, the place of the message in the configuration,
// and names the field that is out of range.
absl::Status check_sparse_optimizer(absl::string_view where, const SparseOptimizerConfig& config);

// Creates the optimizer that `config` chooses, by default Adam. Ignores the learning rate. Errors:
// InvalidArgument naming the field that is out of range; as row_optimizer_registry().create().
absl::StatusOr<std::unique_ptr<RowOptimizer>> create_row_optimizer(
    const SparseOptimizerConfig& config);

}  // namespace millrace

// Registers a row optimizer. Used at namespace scope in a .cc whose cc_library has `alwayslink =
// True`:
//   MILLRACE_REGISTER_ROW_OPTIMIZER(lion, "sign of the momentum", &LionOptimizer::create);
#define MILLRACE_REGISTER_ROW_OPTIMIZER(name, description, factory) \
  MILLRACE_REGISTER_PART(row_optimizer, name, #name, description, factory)

#endif  // MILLRACE_OPTIM_ROWS_ROW_OPTIMIZER_REGISTRY_H_
