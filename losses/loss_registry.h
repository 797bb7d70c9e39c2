// Losses from outside, by name.
#ifndef MILLRACE_LOSSES_LOSS_REGISTRY_H_
#define MILLRACE_LOSSES_LOSS_REGISTRY_H_

#include <functional>
#include <memory>
#include <source_location>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "losses/loss.h"
#include "proto/config.pb.h"
#include "proto/parts/custom_registry.h"

namespace millrace {

// Makes a loss. `config` has the extension that the part reads.
using LossFactory =
    std::function<absl::StatusOr<std::unique_ptr<Loss>>(const CustomConfig& config)>;

// Returns the registry of losses, which also has the names of the built-in kinds.
CustomRegistry<LossFactory>& loss_registry();

// Adds a loss. Called during static initialization by MILLRACE_REGISTER_LOSS.
bool register_loss(absl::string_view name, absl::string_view description, LossFactory factory,
                   std::source_location place = std::source_location::current());

}  // namespace millrace

// At namespace scope in a .cc whose cc_library says `alwayslink = True`:
//   MILLRACE_REGISTER_LOSS(quantile, "pinball loss", &QuantileLoss::create);
#define MILLRACE_REGISTER_LOSS(name, description, factory)     \
  [[maybe_unused]] static const bool millrace_loss_##name##_ = \
      ::millrace::register_loss(#name, (description), (factory))

#endif  // MILLRACE_LOSSES_LOSS_REGISTRY_H_
