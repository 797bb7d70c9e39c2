// Checks of the configuration of plugins without access to files.
#ifndef MILLRACE_PLUGIN_PLUGIN_CONFIG_CHECK_H_
#define MILLRACE_PLUGIN_PLUGIN_CONFIG_CHECK_H_

#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "proto/config.pb.h"

namespace millrace {

// Returns the name of the hook that `config` creates: `name`, or by default the name of the hook in
// the plugin.
const std::string& instance_name(const HookConfig& config);

// Checks `plugin` of a hook, which may be absent. Errors: InvalidArgument with a line per mistake,
// beginning with `where`.
absl::Status check_plugin_hook(absl::string_view where, const HookConfig& config);

// Checks `run.plugins`. Errors: see check_plugin_hook().
absl::Status check_plugins(absl::string_view where, const PluginsConfig& config);

}  // namespace millrace

#endif  // MILLRACE_PLUGIN_PLUGIN_CONFIG_CHECK_H_
