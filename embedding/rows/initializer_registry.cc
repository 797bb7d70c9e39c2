#include "embedding/rows/initializer_registry.h"

#include <google/protobuf/descriptor.h>

namespace millrace {
namespace {

// Lists the built-in kinds also in a program that registers no other.
[[maybe_unused]] const PartFamily& kInitializerFamily = initializer_registry();

}  // namespace

CustomRegistry<RowInitializerFactory>& initializer_registry() {
  static auto* const registry = new CustomRegistry<RowInitializerFactory>(
      "initializer", "initializer { custom { name: \"NAME\" } }",
      *InitializerConfig::descriptor()->FindOneofByName("kind"));
  return *registry;
}

}  // namespace millrace
