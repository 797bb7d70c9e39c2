#include "optim/dense/dense_optimizer_registry.h"

#include <google/protobuf/descriptor.h>

namespace millrace {
namespace {

// Lists the built-in kinds also in a program that registers no other.
[[maybe_unused]] const PartFamily& kDenseOptimizerFamily = dense_optimizer_registry();

}  // namespace

CustomRegistry<DenseOptimizerFactory>& dense_optimizer_registry() {
  static auto* const registry = new CustomRegistry<DenseOptimizerFactory>(
      "dense optimizer", "optimizer { custom { name: \"NAME\" } }",
      *DenseOptimizerConfig::descriptor()->FindOneofByName("kind"));
  return *registry;
}

}  // namespace millrace
