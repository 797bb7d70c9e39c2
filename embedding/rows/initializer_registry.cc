#include "embedding/rows/initializer_registry.h"

#include <utility>

#include "proto/parts/part_kinds.h"

namespace millrace {
namespace {

// Lists the built-in kinds also in a program that registers no other.
[[maybe_unused]] const PartFamily& kFamily = initializer_registry();

}  // namespace

PartRegistry<RowInitializerFactory>& initializer_registry() {
  static auto* const registry = [] {
    auto* const made = new PartRegistry<RowInitializerFactory>(
        "initializer", "initializer { custom { name: \"NAME\" } }");
    add_kinds(*InitializerConfig::descriptor()->FindOneofByName("kind"), made);
    return made;
  }();
  return *registry;
}

bool register_initializer(absl::string_view name, absl::string_view description,
                          RowInitializerFactory factory, std::source_location place) {
  return initializer_registry().add(name, description, std::move(factory), place);
}

}  // namespace millrace
