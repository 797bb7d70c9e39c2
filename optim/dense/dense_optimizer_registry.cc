#include "optim/dense/dense_optimizer_registry.h"

#include <google/protobuf/descriptor.h>

#include <utility>

namespace millrace {
namespace {

// Lists the built-in kinds also in a program that registers no other.
[[maybe_unused]] const PartFamily& kFamily = dense_optimizer_registry();

}  // namespace

CustomRegistry<DenseOptimizerFactory>& dense_optimizer_registry() {
  static auto* const registry = new CustomRegistry<DenseOptimizerFactory>(
      "dense optimizer", "optimizer { custom { name: \"NAME\" } }",
      *DenseOptimizerConfig::descriptor()->FindOneofByName("kind"));
  return *registry;
}

bool register_dense_optimizer(absl::string_view name, absl::string_view description,
                              DenseOptimizerFactory factory, std::source_location place) {
  return dense_optimizer_registry().add(name, description, std::move(factory), place);
}

}  // namespace millrace
