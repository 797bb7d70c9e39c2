#include "framework/model/model_registry.h"

#include <ATen/Context.h>

#include <functional>
#include <map>
#include <mutex>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/parts/part_registry.h"
#include "base/status_macros.h"
#include "framework/model/model.h"
#include "proto/range_check.h"

namespace millrace {
namespace {

MILLRACE_PART_FAMILY(model, PartRegistry<ModelFactory>, "model", "model { name: \"NAME\" }");

std::map<std::string, ModelLabels, std::less<>>& labels() {
  static auto* const labels = new std::map<std::string, ModelLabels, std::less<>>;
  return *labels;
}

}  // namespace

ModelResources resources_of(const TrainConfig& train, const FeatureSchema& schema) {
  ModelResources resources;
  resources.schema = schema;
  resources.embeddings.seed = train.seed();
  resources.embeddings.tables = {train.table().begin(), train.table().end()};
  resources.tasks = {train.task().begin(), train.task().end()};
  for (const SparseFeature& feature : schema.sparse()) {
    resources.embeddings.features.push_back(
        {feature.name, feature.table, feature.pooling, feature.max_ids});
  }
  return resources;
}

bool register_model(absl::string_view name, absl::string_view description, ModelFactory factory,
                    ModelLabels takes, std::source_location place) {
  labels().emplace(name, takes);
  return model_registry().add(name, description, std::move(factory), place);
}

bool register_model(absl::string_view name, ModelFactory factory, ModelLabels takes,
                    std::source_location place) {
  return register_model(name, "", std::move(factory), takes, place);
}

absl::StatusOr<std::shared_ptr<Model>> create_model(const ModelConfig& config,
                                                    const ModelResources& resources,
                                                    uint64_t seed) {
  // A wrong name or number must not change the generators of the process.
  RETURN_IF_ERROR(model_registry().check(config.name()));
  RETURN_IF_ERROR(
      check_extension_ranges(absl::StrCat("model \"", config.name(), "\""), config, config.name()));
  // The generators belong to the process: two threads that each create a model (ranks of one
  // process) would draw from one another's sequence. The mutex is recursive because a model may
  // create a part of itself by name.
  static auto* const generators = new std::recursive_mutex;
  const std::lock_guard<std::recursive_mutex> lock(*generators);
  at::manual_seed(seed);
  return model_registry().create(config.name(), config, resources);
}

ModelLabels labels_of_model(absl::string_view name) {
  const auto found = labels().find(name);
  return found == labels().end() ? ModelLabels::kAny : found->second;
}

std::vector<std::string> registered_models() { return model_registry().names(); }

}  // namespace millrace
