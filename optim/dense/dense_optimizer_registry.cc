#include "optim/dense/dense_optimizer_registry.h"

#include <google/protobuf/descriptor.h>

namespace millrace {
namespace {

// Lists the built-in kinds in every program, even if no other optimizer is registered.
[[maybe_unused]] const PartFamily& kDenseOptimizerFamily = dense_optimizer_registry();

}  // namespace

CustomRegistry<DenseOptimizerFactory>& dense_optimizer_registry() {
  static auto* const registry = new CustomRegistry<DenseOptimizerFactory>(
      "dense optimizer", "optimizer { custom { name: \"NAME\" } }",
      *DenseOptimizerConfig::descriptor()->FindOneofByName("kind"));
  return *registry;
}

}  // namespace millrace
