#include "framework/model_registry.h"

#include <ATen/Context.h>

#include <algorithm>
#include <map>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/log.h"
#include "base/status_macros.h"
#include "base/text.h"
#include "framework/guarded.h"
#include "framework/model.h"

namespace millrace {
namespace {

// Filled during static initialization, so it must not be a static object of this file itself.
std::map<std::string, ModelFactory>& registry() {
  static auto* const models = new std::map<std::string, ModelFactory>();
  return *models;
}

absl::Status not_registered(absl::string_view name) {
  const std::vector<std::string> names = registered_models();
  const std::string near = nearest(name, names);
  return absl::InvalidArgumentError(absl::StrCat(
      "no model \"", name, "\" in this program",
      near.empty() ? "" : absl::StrCat("; did you mean \"", near, "\"?"),
      "; linked in: ", names.empty() ? "none" : absl::StrJoin(names, ", "),
      ". A model is linked in by adding its cc_library (with alwayslink = True) to the deps of the "
      "program in its BUILD file, such as \"//models:",
      name, "\""));
}

}  // namespace

bool register_model(absl::string_view name, ModelFactory factory) {
  const bool added = registry().emplace(std::string(name), std::move(factory)).second;
  MILLRACE_CHECK(added) << "two models are registered as \"" << std::string(name) << "\"";
  return added;
}

absl::StatusOr<std::shared_ptr<Model>> create_model(const ModelConfig& config,
                                                    const ModelResources& resources,
                                                    uint64_t seed) {
  const auto found = registry().find(config.name());
  if (found == registry().end()) return not_registered(config.name());
  const std::string what = absl::StrCat("model \"", config.name(), "\"");
  std::shared_ptr<Model> model;
  RETURN_IF_ERROR(guarded(what, [&]() -> absl::Status {  // LibTorch throws
    at::manual_seed(seed);
    ASSIGN_OR_RETURN(model, found->second(config, resources), what);
    return absl::OkStatus();
  }));
  if (model == nullptr) return absl::InternalError(absl::StrCat(what, ": its factory made none"));
  return model;
}

std::vector<std::string> registered_models() {
  std::vector<std::string> names;
  for (const auto& [name, factory] : registry()) names.push_back(name);
  return names;
}

}  // namespace millrace
