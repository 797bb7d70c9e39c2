#include "losses/loss_registry.h"

#include <google/protobuf/descriptor.h>

namespace millrace {
namespace {

// Lists the built-in kinds in every program, even if no other loss is registered.
[[maybe_unused]] const PartFamily& kLossFamily = loss_registry();

}  // namespace

CustomRegistry<LossFactory>& loss_registry() {
  static auto* const registry =
      new CustomRegistry<LossFactory>("loss", "task { custom { name: \"NAME\" } }",
                                      *TaskConfig::descriptor()->FindOneofByName("loss"));
  return *registry;
}

}  // namespace millrace
