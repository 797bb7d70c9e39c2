#include "losses/loss_registry.h"

#include <google/protobuf/descriptor.h>

#include <utility>

namespace millrace {
namespace {

// Lists the built-in kinds also in a program that registers no other.
[[maybe_unused]] const PartFamily& kFamily = loss_registry();

}  // namespace

CustomRegistry<LossFactory>& loss_registry() {
  static auto* const registry =
      new CustomRegistry<LossFactory>("loss", "task { custom { name: \"NAME\" } }",
                                      *TaskConfig::descriptor()->FindOneofByName("loss"));
  return *registry;
}

bool register_loss(absl::string_view name, absl::string_view description, LossFactory factory,
                   std::source_location place) {
  return loss_registry().add(name, description, std::move(factory), place);
}

}  // namespace millrace
