#include "framework/hook_registry.h"

#include <map>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/catch_exceptions.h"
#include "base/log.h"
#include "base/status_macros.h"
#include "framework/not_linked.h"

namespace millrace {
namespace {

struct Entry {
  std::string description;
  HookFactory factory;
  OnError preference;
};

// Filled during static initialization only.
std::map<std::string, Entry>& registry() {
  static auto* registry = new std::map<std::string, Entry>;
  return *registry;
}

}  // namespace

bool register_hook(absl::string_view name, absl::string_view description, HookFactory factory,
                   OnError preference) {
  Entry entry{std::string(description), std::move(factory), preference};
  const bool added = registry().try_emplace(std::string(name), std::move(entry)).second;
  MILLRACE_CHECK(added) << "two hooks are registered as \"" << name << "\"";
  return added;
}

absl::StatusOr<std::unique_ptr<Hook>> create_hook(const HookConfig& config,
                                                  const HookResources& resources) {
  const auto found = registry().find(config.name());
  if (found == registry().end()) {
    std::vector<std::string> names;
    for (const auto& [name, entry] : registry()) names.push_back(name);
    return not_linked("hook", config.name(), names);
  }
  std::unique_ptr<Hook> hook;
  RETURN_IF_ERROR(catch_exceptions(
      absl::StrCat("creating hook \"", config.name(), "\""), [&]() -> absl::Status {
        ASSIGN_OR_RETURN(hook, found->second.factory(config, resources),
                         absl::StrCat("creating hook \"", config.name(), "\""));
        return absl::OkStatus();
      }));
  if (hook == nullptr) {
    return absl::InternalError(
        absl::StrCat("creating hook \"", config.name(), "\": its factory returned none"));
  }
  return hook;
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
  const auto found = registry().find(config.name());
  return on_error_or(config.on_error(),
                     found == registry().end() ? OnError::kFail : found->second.preference);
}

std::vector<RegisteredHook> registered_hooks() {
  std::vector<RegisteredHook> hooks;
  for (const auto& [name, entry] : registry()) {
    hooks.push_back({name, entry.description, entry.preference});
  }
  return hooks;
}

}  // namespace millrace
