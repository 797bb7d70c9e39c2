// The registry of row optimizers of jobs.
#ifndef MILLRACE_OPTIM_ROWS_ROW_OPTIMIZER_REGISTRY_H_
#define MILLRACE_OPTIM_ROWS_ROW_OPTIMIZER_REGISTRY_H_

#include <functional>
#include <memory>

#include "absl/status/statusor.h"
#include "embedding/rows/row_optimizer.h"
#include "proto/config.pb.h"
#include "proto/parts/custom_registry.h"

namespace millrace {

// Creates a row optimizer. `config` has the extension that the optimizer reads. Tables pass the
// learning rate to update().
using RowOptimizerFactory =
    std::function<absl::StatusOr<std::unique_ptr<RowOptimizer>>(const CustomConfig& config)>;

// Returns the registry of row optimizers, which also has the names of the built-in kinds.
CustomRegistry<RowOptimizerFactory>& row_optimizer_registry();

}  // namespace millrace

// Registers a row optimizer. Used at namespace scope in a .cc whose cc_library has `alwayslink =
// True`:
//   MILLRACE_REGISTER_ROW_OPTIMIZER(lion, "sign of the momentum", &LionOptimizer::create);
#define MILLRACE_REGISTER_ROW_OPTIMIZER(name, description, factory) \
  MILLRACE_REGISTER_PART(row_optimizer, name, #name, description, factory)

#endif  // MILLRACE_OPTIM_ROWS_ROW_OPTIMIZER_REGISTRY_H_
