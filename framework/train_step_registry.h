// Registry of custom train steps.
#ifndef MILLRACE_FRAMEWORK_TRAIN_STEP_REGISTRY_H_
#define MILLRACE_FRAMEWORK_TRAIN_STEP_REGISTRY_H_

#include <functional>
#include <memory>

#include "absl/status/statusor.h"
#include "framework/train_step.h"
#include "proto/config.pb.h"
#include "proto/parts/custom_registry.h"

namespace millrace {

// Creates a train step. `config` contains the step's extension.
using TrainStepFactory =
    std::function<absl::StatusOr<std::unique_ptr<TrainStep>>(const CustomConfig& config)>;

// Returns the registry of train steps, which includes the name of the standard one.
CustomRegistry<TrainStepFactory>& train_step_registry();

// Creates the train step that `config` names. Errors: as PartRegistry::create().
absl::StatusOr<std::unique_ptr<TrainStep>> create_train_step(const TrainStepConfig& config);

}  // namespace millrace

// Registers a train step. Used at namespace scope in a .cc whose cc_library sets
// `alwayslink = True`:
//   MILLRACE_REGISTER_TRAIN_STEP(sam, "sharpness-aware minimization", &SamStep::create);
#define MILLRACE_REGISTER_TRAIN_STEP(name, description, factory) \
  MILLRACE_REGISTER_PART(train_step, name, #name, description, factory)

#endif  // MILLRACE_FRAMEWORK_TRAIN_STEP_REGISTRY_H_
