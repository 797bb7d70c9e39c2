#include "hook/hook_registry.h"

#include <functional>
#include <map>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/parts/part_registry.h"
#include "base/status_macros.h"
#include "proto/config_variables.h"

namespace millrace {
namespace {

MILLRACE_PART_FAMILY(hook, PartRegistry<HookFactory>, "hook", "hooks { name: \"NAME\" }");

// Returns the OnError of each hook that applies unless the configuration sets one.
std::map<std::string, OnError, std::less<>>& preferences() {
  static auto* const preferences = new std::map<std::string, OnError, std::less<>>;
  return *preferences;
}

OnError preference_of(absl::string_view name) {
  const auto found = preferences().find(name);
  return found == preferences().end() ? OnError::kFail : found->second;
}

}  // namespace

bool register_hook(absl::string_view name, absl::string_view description, HookFactory factory,
                   OnError preference, std::source_location place) {
  preferences().emplace(name, preference);
  return hook_registry().add(name, description, std::move(factory), place);
}

absl::StatusOr<std::unique_ptr<Hook>> create_hook(const HookConfig& config,
                                                  const HookResources& resources) {
  ASSIGN_OR_RETURN(const HookConfig resolved,
                   with_secrets(absl::StrCat("hook \"", config.name(), "\""), config));
  return hook_registry().create(resolved.name(), resolved, resources);
}

OnError on_error_or(HookConfig::OnError configured, OnError preference) {
  switch (configured) {
    case HookConfig::FAIL: return OnError::kFail;
    case HookConfig::WARN: return OnError::kWarn;
    case HookConfig::DISABLE: return OnError::kDisable;
    default: return preference;
  }
}

OnError on_error_of(const HookConfig& config) {
  return on_error_or(config.on_error(), preference_of(config.name()));
}

std::vector<RegisteredHook> registered_hooks() {
  std::vector<RegisteredHook> hooks;
  for (const PartEntry& entry : hook_registry().parts()) {
    hooks.push_back({entry.name, entry.description, preference_of(entry.name)});
  }
  return hooks;
}

}  // namespace millrace
