#include "framework/model_registry.h"

#include <ATen/Context.h>

#include <algorithm>
#include <map>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/catch_exceptions.h"
#include "base/log.h"
#include "base/status_macros.h"
#include "framework/model.h"
#include "framework/not_linked.h"

namespace millrace {
namespace {

struct RegisteredModel {
  ModelFactory factory;
  ModelLabels labels;
};

// Filled during static initialization, so it must not be a static object of this file itself.
std::map<std::string, RegisteredModel>& registry() {
  static auto* const models = new std::map<std::string, RegisteredModel>();
  return *models;
}

}  // namespace

bool register_model(absl::string_view name, ModelFactory factory, ModelLabels labels) {
  RegisteredModel model{std::move(factory), labels};
  const bool added = registry().emplace(std::string(name), std::move(model)).second;
  MILLRACE_CHECK(added) << "two models are registered as \"" << std::string(name) << "\"";
  return added;
}

absl::StatusOr<std::shared_ptr<Model>> create_model(const ModelConfig& config,
                                                    const ModelResources& resources,
                                                    uint64_t seed) {
  const auto found = registry().find(config.name());
  if (found == registry().end()) {
    return not_linked("model", config.name(), registered_models());
  }
  const std::string what = absl::StrCat("model \"", config.name(), "\"");
  std::shared_ptr<Model> model;
  RETURN_IF_ERROR(catch_exceptions(what, [&]() -> absl::Status {  // LibTorch throws
    at::manual_seed(seed);
    ASSIGN_OR_RETURN(model, found->second.factory(config, resources), what);
    return absl::OkStatus();
  }));
  if (model == nullptr) return absl::InternalError(absl::StrCat(what, ": its factory made none"));
  return model;
}

ModelLabels labels_of_model(absl::string_view name) {
  const auto found = registry().find(std::string(name));
  return found == registry().end() ? ModelLabels::kAny : found->second.labels;
}

std::vector<std::string> registered_models() {
  std::vector<std::string> names;
  for (const auto& [name, model] : registry()) names.push_back(name);
  return names;
}

}  // namespace millrace
