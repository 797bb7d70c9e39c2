#include "plugin/plugin_config_check.h"

#include <vector>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "plugin/plugin_file.h"
#include "plugin/sha256.h"
#include "proto/field_check.h"
#include "proto/field_errors.h"

namespace millrace {
namespace {

using google::protobuf::FieldDescriptor;

absl::Status check_digest(absl::string_view where, const std::string& digest) {
  if (is_sha256(digest)) return absl::OkStatus();
  return wrong(where, absl::StrCat("sha256 is \"", digest,
                                   "\"; must be 64 hexadecimal digits, as sha256sum prints them"));
}

bool has_extension(const HookConfig& config) {
  std::vector<const FieldDescriptor*> fields;
  config.GetReflection()->ListFields(config, &fields);
  for (const FieldDescriptor* field : fields) {
    if (field->is_extension()) return true;
  }
  return false;
}

}  // namespace

const std::string& instance_name(const HookConfig& config) {
  return config.name().empty() && config.has_plugin() ? config.plugin().hook() : config.name();
}

absl::Status check_plugin_hook(absl::string_view where, const HookConfig& config) {
  if (!config.has_plugin()) return absl::OkStatus();
  const std::string place = absl::StrCat(where, ".plugin");
  const PluginConfig& plugin = config.plugin();
  FieldErrors errors;
  if (plugin.path().empty()) {
    errors.add(wrong(place, "path is missing"));
  } else {
    errors.add(
        annotate(check_plugin_path(plugin.path()), absl::StrCat(place, ": ", plugin.path())));
  }
  if (plugin.hook().empty()) errors.add(wrong(place, "hook is missing"));
  if (plugin.has_sha256()) errors.add(check_digest(place, plugin.sha256()));
  if (has_extension(config)) {
    errors.add(wrong(place,
                     "an extension configures a hook that is linked in; give the options of "
                     "the plugin's hook as text in config"));
  }
  return errors.status();
}

absl::Status check_plugins(absl::string_view where, const PluginsConfig& config) {
  FieldErrors errors;
  for (int i = 0; i < config.directory_size(); ++i) {
    errors.add(annotate(check_plugin_path(config.directory(i)),
                        absl::StrCat(entry(absl::StrCat(where, ".directory"), i), ": \"",
                                     config.directory(i), "\"")));
  }
  for (int i = 0; i < config.sha256_size(); ++i) {
    errors.add(check_digest(entry(absl::StrCat(where, ".sha256"), i), config.sha256(i)));
  }
  return errors.status();
}

}  // namespace millrace
