// Hooks of a configuration that come from plugins.
#ifndef MILLRACE_PLUGIN_CONFIGURED_PLUGINS_H_
#define MILLRACE_PLUGIN_CONFIGURED_PLUGINS_H_

#include <memory>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "framework/hook.h"
#include "framework/hook_registry.h"
#include "framework/on_error.h"
#include "proto/config.pb.h"

namespace millrace {

// Checks the plugins of train.hooks and run.hooks as far as that runs nothing of them: place,
// permissions, digest, content, and that each has the hook that is named. Sets `name` and
// `plugin.sha256` of each that passes; the digest makes it part of the fingerprint of `train`. What
// check_plugin_hook() refuses is not reported again.
// Errors: InvalidArgument with one line for each hook whose plugin is refused.
absl::Status resolve_plugins(JobConfig& config);

struct ConfiguredPluginHook {
  std::unique_ptr<Hook> hook;
  OnError on_error = OnError::kFail;
};

// Loads the plugin of a hook, and creates the hook. REQUIRES: `config.has_plugin()`.
// Errors: see resolve_plugins(), naming the hook; FailedPrecondition if that did not set
// `sha256`; what the factory of the hook returned or threw.
absl::StatusOr<ConfiguredPluginHook> create_configured_plugin_hook(const HookConfig& config,
                                                                   const PluginsConfig& plugins,
                                                                   const HookResources& resources);

}  // namespace millrace

#endif  // MILLRACE_PLUGIN_CONFIGURED_PLUGINS_H_
