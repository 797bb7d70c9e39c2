#include "optim/dense/dense_optimizer_registry.h"

#include <utility>

#include "proto/parts/part_kinds.h"

namespace millrace {
namespace {

// Lists the built-in kinds also in a program that registers no other.
[[maybe_unused]] const PartFamily& kFamily = dense_optimizer_registry();

}  // namespace

PartRegistry<DenseOptimizerFactory>& dense_optimizer_registry() {
  static auto* const registry = [] {
    auto* const made = new PartRegistry<DenseOptimizerFactory>(
        "dense optimizer", "optimizer { custom { name: \"NAME\" } }");
    add_kinds(*DenseOptimizerConfig::descriptor()->FindOneofByName("kind"), made);
    return made;
  }();
  return *registry;
}

bool register_dense_optimizer(absl::string_view name, absl::string_view description,
                              DenseOptimizerFactory factory, std::source_location place) {
  return dense_optimizer_registry().add(name, description, std::move(factory), place);
}

}  // namespace millrace
