#include "io/transform/transform_registry.h"

#include <utility>

#include "proto/parts/part_kinds.h"

namespace millrace {
namespace {

// Lists the built-in kinds also in a program that registers no other.
[[maybe_unused]] const PartFamily& kFamily = transform_registry();

}  // namespace

PartRegistry<TransformFactory>& transform_registry() {
  static auto* const registry = [] {
    auto* const made =
        new PartRegistry<TransformFactory>("transform", "transform { custom { name: \"NAME\" } }");
    add_kinds(*TransformConfig::descriptor()->FindOneofByName("kind"), made);
    return made;
  }();
  return *registry;
}

bool register_transform(absl::string_view name, absl::string_view description,
                        TransformFactory factory, std::source_location place) {
  return transform_registry().add(name, description, std::move(factory), place);
}

}  // namespace millrace
