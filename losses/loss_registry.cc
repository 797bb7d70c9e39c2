#include "losses/loss_registry.h"

#include <google/protobuf/descriptor.h>

namespace millrace {
namespace {

// Lists the built-in kinds also in a program that registers no other.
[[maybe_unused]] const PartFamily& kLossFamily = loss_registry();

}  // namespace

CustomRegistry<LossFactory>& loss_registry() {
  static auto* const registry =
      new CustomRegistry<LossFactory>("loss", "task { custom { name: \"NAME\" } }",
                                      *TaskConfig::descriptor()->FindOneofByName("loss"));
  return *registry;
}

}  // namespace millrace
