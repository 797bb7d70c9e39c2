// Plugin hooks of a configuration.
#ifndef MILLRACE_PLUGIN_CONFIGURED_PLUGINS_H_
#define MILLRACE_PLUGIN_CONFIGURED_PLUGINS_H_

#include <memory>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "hook/hook.h"
#include "hook/hook_registry.h"
#include "hook/hook_statistics.h"
#include "proto/config.pb.h"

namespace millrace {

// Checks the plugins of train.hooks and run.hooks without running their code: place, permissions,
// digest, content, and the existence of the named hook. Sets `name` and `plugin.sha256` of each
// plugin that passes; the digest becomes part of the fingerprint of `train`. Mistakes refused by
// check_plugin_hook() are not reported again.
// Errors: InvalidArgument with a line per hook whose plugin is refused.
absl::Status resolve_plugins(JobConfig& config);

struct ConfiguredPluginHook {
  std::unique_ptr<Hook> hook;
  OnError on_error = OnError::kFail;
};

// Loads the plugin of a hook, and creates the hook. REQUIRES: `config.has_plugin()`. Errors: see
// resolve_plugins(), with the hook; FailedPrecondition if resolve_plugins() did not set `sha256`;
// errors and exceptions of the hook's factory.
absl::StatusOr<ConfiguredPluginHook> create_configured_plugin_hook(const HookConfig& config,
                                                                   const PluginsConfig& plugins,
                                                                   const HookResources& resources);

}  // namespace millrace

#endif  // MILLRACE_PLUGIN_CONFIGURED_PLUGINS_H_
