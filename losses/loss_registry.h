// Losses by their configuration.
#ifndef MILLRACE_LOSSES_LOSS_REGISTRY_H_
#define MILLRACE_LOSSES_LOSS_REGISTRY_H_

#include <functional>
#include <memory>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "losses/loss.h"
#include "proto/config.pb.h"
#include "proto/parts/kind_registry.h"

namespace millrace {

// Creates a loss. `config` has the extension that the loss reads.
using LossFactory =
    std::function<absl::StatusOr<std::unique_ptr<Loss>>(const CustomConfig& config)>;

using LossRegistry = KindRegistry<TaskConfig, LossFactory>;

// Returns the registry of losses, which also has the built-in kinds.
LossRegistry& loss_registry();

// Checks the weight of a task and the options of its loss. Errors: InvalidArgument that begins with
// `where`, the place of the task in the configuration, and names all wrong fields.
absl::Status check_loss(absl::string_view where, const TaskConfig& task);

// Creates the loss of a task, by default binary cross entropy. Errors: as check_loss(), naming the
// label.
absl::StatusOr<std::unique_ptr<Loss>> create_loss(const TaskConfig& task);

}  // namespace millrace

// Registers a loss. Used at namespace scope in a .cc whose cc_library has `alwayslink = True`:
//   MILLRACE_REGISTER_LOSS(quantile, "pinball loss", &QuantileLoss::create);
#define MILLRACE_REGISTER_LOSS(name, description, factory) \
  MILLRACE_REGISTER_PART(loss, name, #name, description, factory)

#endif  // MILLRACE_LOSSES_LOSS_REGISTRY_H_
