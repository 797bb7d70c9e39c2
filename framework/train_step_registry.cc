#include "framework/train_step_registry.h"

#include <google/protobuf/descriptor.h>

namespace millrace {
namespace {

// Registers the standard step also in a program without custom steps.
[[maybe_unused]] const PartFamily& kTrainStepFamily = train_step_registry();

}  // namespace

CustomRegistry<TrainStepFactory>& train_step_registry() {
  static auto* const registry =
      new CustomRegistry<TrainStepFactory>("train step", "train_step { custom { name: \"NAME\" } }",
                                           *TrainStepConfig::descriptor()->FindOneofByName("kind"));
  return *registry;
}

absl::StatusOr<std::unique_ptr<TrainStep>> create_train_step(const TrainStepConfig& config) {
  if (!config.has_custom()) return create_standard_train_step();
  return train_step_registry().create(config.custom());
}

}  // namespace millrace
