#include "optim/rows/row_optimizer_registry.h"

#include <google/protobuf/descriptor.h>

#include <utility>

namespace millrace {
namespace {

// Lists the built-in kinds also in a program that registers no other.
[[maybe_unused]] const PartFamily& kFamily = row_optimizer_registry();

}  // namespace

CustomRegistry<RowOptimizerFactory>& row_optimizer_registry() {
  static auto* const registry = new CustomRegistry<RowOptimizerFactory>(
      "row optimizer", "sparse_optimizer { custom { name: \"NAME\" } }",
      *SparseOptimizerConfig::descriptor()->FindOneofByName("kind"));
  return *registry;
}

bool register_row_optimizer(absl::string_view name, absl::string_view description,
                            RowOptimizerFactory factory, std::source_location place) {
  return row_optimizer_registry().add(name, description, std::move(factory), place);
}

}  // namespace millrace
