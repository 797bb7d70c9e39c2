// Models by name.
#ifndef MILLRACE_FRAMEWORK_MODEL_MODEL_REGISTRY_H_
#define MILLRACE_FRAMEWORK_MODEL_MODEL_REGISTRY_H_

#include <functional>
#include <memory>
#include <source_location>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "embedding/collection_options.h"
#include "io/feature_schema.h"
#include "proto/config.pb.h"

namespace millrace {

class Model;

// Inputs for building a model.
struct ModelResources {
  FeatureSchema schema;
  // For EmbeddingCollection::create: every table and sparse feature of the job.
  EmbeddingCollectionOptions embeddings;
  // TrainConfig.task, for a model of ModelLabels::kOfTasks (models/task_losses.h).
  std::vector<TaskConfig> tasks = {};
};

// Returns what `train` and the schema of its features say of a model. The embeddings have the
// defaults of EmbeddingCollectionOptions for the rest, such as the threads.
ModelResources resources_of(const TrainConfig& train, const FeatureSchema& schema);

using ModelFactory = std::function<absl::StatusOr<std::shared_ptr<Model>>(const ModelConfig&,
                                                                          const ModelResources&)>;

// The labels for which the loss of a model has a meaning.
enum class ModelLabels {
  kAny,            // any number
  kProbabilities,  // in [0, 1], as for a cross entropy; other labels are bad data
  // Each label has its own loss, which the model reads from TrainConfig.task. TrainConfig.task is
  // an error with other models.
  kOfTasks,
};

// Registers a model under a name, with a description of one line. Called during static
// initialization by MILLRACE_REGISTER_MODEL; the registry does not change afterwards. A name that
// is registered twice creates no model.
bool register_model(absl::string_view name, absl::string_view description, ModelFactory factory,
                    ModelLabels labels = ModelLabels::kAny,
                    std::source_location place = std::source_location::current());
// Registers a model without a description.
bool register_model(absl::string_view name, ModelFactory factory,
                    ModelLabels labels = ModelLabels::kAny,
                    std::source_location place = std::source_location::current());

// Creates the model that `config` names, with parameters initialised from `seed`. Seeds LibTorch's
// generators unless the name or a number is wrong. Threads may call this function concurrently;
// each gets the parameters of its seed. Errors: as PartRegistry::create() and
// check_extension_ranges() (proto/range_check.h).
absl::StatusOr<std::shared_ptr<Model>> create_model(const ModelConfig& config,
                                                    const ModelResources& resources, uint64_t seed);

// Returns the labels that the named model accepts; kAny if the name is not registered.
ModelLabels labels_of_model(absl::string_view name);

std::vector<std::string> registered_models();  // sorted

}  // namespace millrace

// Registers a model. Used at namespace scope in the model's .cc, whose cc_library sets
// `alwayslink = True`:
//   MILLRACE_REGISTER_MODEL(my_model, "two towers", &MyModel::create);
// A model whose loss is a cross entropy adds its ModelLabels:
//   MILLRACE_REGISTER_MODEL(my_model, "two towers", &MyModel::create,
//                           ModelLabels::kProbabilities);
// The description may be omitted; `millrace list model` then shows none.
#define MILLRACE_REGISTER_MODEL(name, ...)                      \
  [[maybe_unused]] static const bool millrace_model_##name##_ = \
      ::millrace::register_model(#name, __VA_ARGS__)

#endif  // MILLRACE_FRAMEWORK_MODEL_MODEL_REGISTRY_H_
