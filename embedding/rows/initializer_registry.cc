#include "embedding/rows/initializer_registry.h"

#include <google/protobuf/descriptor.h>

#include <utility>

namespace millrace {
namespace {

// Lists the built-in kinds also in a program that registers no other.
[[maybe_unused]] const PartFamily& kFamily = initializer_registry();

}  // namespace

CustomRegistry<RowInitializerFactory>& initializer_registry() {
  static auto* const registry = new CustomRegistry<RowInitializerFactory>(
      "initializer", "initializer { custom { name: \"NAME\" } }",
      *InitializerConfig::descriptor()->FindOneofByName("kind"));
  return *registry;
}

bool register_initializer(absl::string_view name, absl::string_view description,
                          RowInitializerFactory factory, std::source_location place) {
  return initializer_registry().add(name, description, std::move(factory), place);
}

}  // namespace millrace
