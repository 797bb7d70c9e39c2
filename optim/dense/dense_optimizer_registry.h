// Dense optimizers by their configuration.
#ifndef MILLRACE_OPTIM_DENSE_DENSE_OPTIMIZER_REGISTRY_H_
#define MILLRACE_OPTIM_DENSE_DENSE_OPTIMIZER_REGISTRY_H_

#include <functional>
#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "optim/dense/dense_optimizer.h"
#include "optim/dense/named_parameter.h"
#include "optim/schedule/schedule.h"
#include "proto/config.pb.h"
#include "proto/parts/kind_registry.h"

namespace millrace {

// Creates an optimizer of `parameters` with the rates of `schedule`. `config` has the extension
// that the optimizer reads.
using DenseOptimizerFactory = std::function<absl::StatusOr<std::unique_ptr<DenseOptimizer>>(
    const CustomConfig& config, std::vector<NamedParameter> parameters,
    std::unique_ptr<Schedule> schedule)>;

using DenseOptimizerRegistry = KindRegistry<DenseOptimizerConfig, DenseOptimizerFactory>;

// Returns the registry of dense optimizers, which also has the built-in kinds; Adam is the default.
// Its create() REQUIRES: check_dense_optimizer() accepts the configuration.
DenseOptimizerRegistry& dense_optimizer_registry();

// Checks the learning rate and the numbers of the chosen kind, with their ranges, and that a
// configuration of frozen parameters has no kind, schedule or learning rate.
// Errors: InvalidArgument that begins with `where`, the place of the message in the configuration,
// and names the field that is out of range.
absl::Status check_dense_optimizer(absl::string_view where, const DenseOptimizerConfig& config);

}  // namespace millrace

// Registers a dense optimizer. Used at namespace scope in a .cc whose cc_library has `alwayslink =
// True`:
//   MILLRACE_REGISTER_DENSE_OPTIMIZER(sign_sgd, "steps by the sign", &SignSgd::create);
#define MILLRACE_REGISTER_DENSE_OPTIMIZER(name, description, factory) \
  MILLRACE_REGISTER_PART(dense_optimizer, name, #name, description, factory)

#endif  // MILLRACE_OPTIM_DENSE_DENSE_OPTIMIZER_REGISTRY_H_
