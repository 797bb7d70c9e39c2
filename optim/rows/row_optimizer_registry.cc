#include "optim/rows/row_optimizer_registry.h"

#include <utility>

#include "proto/parts/part_kinds.h"

namespace millrace {
namespace {

// Lists the built-in kinds also in a program that registers no other.
[[maybe_unused]] const PartFamily& kFamily = row_optimizer_registry();

}  // namespace

PartRegistry<RowOptimizerFactory>& row_optimizer_registry() {
  static auto* const registry = [] {
    auto* const made = new PartRegistry<RowOptimizerFactory>(
        "row optimizer", "sparse_optimizer { custom { name: \"NAME\" } }");
    add_kinds(*SparseOptimizerConfig::descriptor()->FindOneofByName("kind"), made);
    return made;
  }();
  return *registry;
}

bool register_row_optimizer(absl::string_view name, absl::string_view description,
                            RowOptimizerFactory factory, std::source_location place) {
  return row_optimizer_registry().add(name, description, std::move(factory), place);
}

}  // namespace millrace
