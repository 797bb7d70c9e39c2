#include "framework/train_step_registry.h"

#include <utility>

#include "proto/parts/part_kinds.h"

namespace millrace {
namespace {

// Lists the standard step also in a program that registers no other.
[[maybe_unused]] const PartFamily& kFamily = train_step_registry();

}  // namespace

PartRegistry<TrainStepFactory>& train_step_registry() {
  static auto* const registry = [] {
    auto* const made = new PartRegistry<TrainStepFactory>(
        "train step", "train_step { custom { name: \"NAME\" } }");
    add_kinds(*TrainStepConfig::descriptor()->FindOneofByName("kind"), made);
    return made;
  }();
  return *registry;
}

bool register_train_step(absl::string_view name, absl::string_view description,
                         TrainStepFactory factory, std::source_location place) {
  return train_step_registry().add(name, description, std::move(factory), place);
}

absl::StatusOr<std::unique_ptr<TrainStep>> create_train_step(const TrainStepConfig& config) {
  if (!config.has_custom()) return create_standard_train_step();
  return train_step_registry().create(config.custom().name(), config.custom());
}

}  // namespace millrace
