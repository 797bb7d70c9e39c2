#include "optim/rows/row_optimizer_registry.h"

#include <google/protobuf/descriptor.h>

namespace millrace {
namespace {

// Lists the built-in kinds in every program, even if no other optimizer is registered.
[[maybe_unused]] const PartFamily& kRowOptimizerFamily = row_optimizer_registry();

}  // namespace

CustomRegistry<RowOptimizerFactory>& row_optimizer_registry() {
  static auto* const registry = new CustomRegistry<RowOptimizerFactory>(
      "row optimizer", "sparse_optimizer { custom { name: \"NAME\" } }",
      *SparseOptimizerConfig::descriptor()->FindOneofByName("kind"));
  return *registry;
}

}  // namespace millrace
