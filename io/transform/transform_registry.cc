#include "io/transform/transform_registry.h"

#include <google/protobuf/descriptor.h>

namespace millrace {
namespace {

// Lists the built-in kinds also in a program that registers no other.
[[maybe_unused]] const PartFamily& kTransformFamily = transform_registry();

}  // namespace

CustomRegistry<TransformFactory>& transform_registry() {
  static auto* const registry =
      new CustomRegistry<TransformFactory>("transform", "transform { custom { name: \"NAME\" } }",
                                           *TransformConfig::descriptor()->FindOneofByName("kind"));
  return *registry;
}

}  // namespace millrace
