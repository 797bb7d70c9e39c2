#include "plugin/configured_plugins.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "base/text.h"
#include "plugin/plugin_config_check.h"
#include "plugin/plugin_file.h"
#include "plugin/plugin_library.h"
#include "proto/field_check.h"
#include "proto/field_errors.h"

namespace millrace {
namespace {

absl::Status check_digest(const PluginFile& file, const PluginConfig& config,
                          const PluginsConfig& plugins) {
  if (config.has_sha256() && absl::AsciiStrToLower(config.sha256()) != file.digest()) {
    return absl::InvalidArgumentError(absl::StrCat(file.path(), ": its SHA-256 is ", file.digest(),
                                                   ", and plugin.sha256 is ", config.sha256(),
                                                   ": it is another file"));
  }
  const auto& allowed = plugins.sha256();
  const auto is_same = [&](const std::string& digest) {
    return absl::AsciiStrToLower(digest) == file.digest();
  };
  if (allowed.empty() || std::any_of(allowed.begin(), allowed.end(), is_same)) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(absl::StrCat(file.path(), ": its SHA-256, ", file.digest(),
                                                 ", is none of run.plugins.sha256"));
}

absl::StatusOr<CheckedPlugin> check_configured(const PluginConfig& config,
                                               const PluginsConfig& plugins) {
  const std::vector<std::string> directories(plugins.directory().begin(),
                                             plugins.directory().end());
  ASSIGN_OR_RETURN(PluginFile file, PluginFile::open(config.path(), &directories));
  RETURN_IF_ERROR(check_digest(file, config, plugins));
  ASSIGN_OR_RETURN(CheckedPlugin plugin, check_plugin_file(std::move(file)));
  const std::vector<std::string> names = hook_names(plugin.notes);
  if (std::find(names.begin(), names.end(), config.hook()) == names.end()) {
    return absl::InvalidArgumentError(absl::StrCat(plugin.file.path(), " has no hook \"",
                                                   config.hook(), "\"",
                                                   did_you_mean(config.hook(), names)));
  }
  return plugin;
}

void resolve(absl::string_view list, google::protobuf::RepeatedPtrField<HookConfig>& hooks,
             const PluginsConfig& plugins, FieldErrors& errors) {
  for (int i = 0; i < hooks.size(); ++i) {
    const std::string where = entry(list, i, instance_name(hooks[i]));
    if (!hooks[i].has_plugin() || !check_plugin_hook(where, hooks[i]).ok()) continue;
    const absl::StatusOr<CheckedPlugin> plugin = check_configured(hooks[i].plugin(), plugins);
    if (plugin.ok()) {
      hooks[i].set_name(instance_name(hooks[i]));
      hooks[i].mutable_plugin()->set_sha256(plugin->file.digest());
    } else {
      errors.add(wrong(where, plugin.status().message()));
    }
  }
}

}  // namespace

absl::Status resolve_plugins(JobConfig& config) {
  const PluginsConfig plugins = config.run().plugins();
  FieldErrors errors;
  resolve("train.hooks", *config.mutable_train()->mutable_hooks(), plugins, errors);
  resolve("run.hooks", *config.mutable_run()->mutable_hooks(), plugins, errors);
  return errors.status();
}

absl::StatusOr<ConfiguredPluginHook> create_configured_plugin_hook(const HookConfig& config,
                                                                   const PluginsConfig& plugins,
                                                                   const HookResources& resources) {
  const PluginConfig& own = config.plugin();
  const std::string creating = absl::StrCat("creating hook \"", config.name(), "\"");
  if (!own.has_sha256()) {
    return absl::FailedPreconditionError(
        absl::StrCat(creating, ": its plugin was not checked: call resolve_plugins() first"));
  }
  ASSIGN_OR_RETURN(CheckedPlugin plugin, check_configured(own, plugins), creating);
  OnError preference = OnError::kFail;
  for (const PluginHookText& hook : plugin.notes.hooks) {
    if (own.hook() == hook.name) preference = static_cast<OnError>(hook.on_error);
  }
  ASSIGN_OR_RETURN(const PluginLibrary* library, PluginLibrary::load(std::move(plugin)), creating);
  ConfiguredPluginHook made;
  made.on_error = on_error_or(config.on_error(), preference);
  ASSIGN_OR_RETURN(made.hook,
                   library->create_hook(own.hook(), config.name(), own.config(), resources),
                   creating);
  return made;
}

}  // namespace millrace
