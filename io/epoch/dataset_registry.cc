#include "io/epoch/dataset_registry.h"

namespace millrace {
namespace {

// Lists the family also in a program that registers none.
[[maybe_unused]] const PartFamily& kDatasetFamily = dataset_registry();

}  // namespace

CustomRegistry<DatasetFactory>& dataset_registry() {
  static auto* const registry = new CustomRegistry<DatasetFactory>(
      "dataset", "train_data { custom_dataset { name: \"NAME\" } }");
  return *registry;
}

}  // namespace millrace
