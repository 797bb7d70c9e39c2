#include "losses/loss_registry.h"

#include <utility>

#include "proto/parts/part_kinds.h"

namespace millrace {
namespace {

// Lists the built-in kinds also in a program that registers no other.
[[maybe_unused]] const PartFamily& kFamily = loss_registry();

}  // namespace

PartRegistry<LossFactory>& loss_registry() {
  static auto* const registry = [] {
    auto* const made = new PartRegistry<LossFactory>("loss", "task { custom { name: \"NAME\" } }");
    add_kinds(*TaskConfig::descriptor()->FindOneofByName("loss"), made);
    return made;
  }();
  return *registry;
}

bool register_loss(absl::string_view name, absl::string_view description, LossFactory factory,
                   std::source_location place) {
  return loss_registry().add(name, description, std::move(factory), place);
}

}  // namespace millrace
