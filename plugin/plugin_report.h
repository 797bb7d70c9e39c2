// The findings of `millrace plugin inspect`.
#ifndef MILLRACE_PLUGIN_PLUGIN_REPORT_H_
#define MILLRACE_PLUGIN_PLUGIN_REPORT_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "plugin/plugin_note.h"

namespace millrace {

struct PluginReport {
  std::string path;
  int64_t bytes = 0;
  std::string digest;                // SHA-256
  std::optional<PluginNotes> notes;  // absent if they cannot be read
  // Names of the libraries that it needs, of what it exports, and of the .proto files in it. Empty
  // if it is no shared library.
  std::vector<std::string> needed, exported, proto_files;
  // Reasons for which this program would not load the file. Empty: it would load the file from a
  // directory of run.plugins.
  std::vector<std::string> refusals;
};

// Inspects a file without running anything of it. `path` may be relative and lead through links,
// which is among the refusals then.
// Errors: see PluginFile::read.
absl::StatusOr<PluginReport> inspect_plugin(const std::string& path);

}  // namespace millrace

#endif  // MILLRACE_PLUGIN_PLUGIN_REPORT_H_
