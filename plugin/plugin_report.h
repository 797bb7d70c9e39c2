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
  // Names of required libraries, of exported symbols, and of contained .proto files. Empty if the
  // file is not a shared library.
  std::vector<std::string> needed, exported, proto_files;
  // Reasons for which the program would not load the file. Empty: the program would load the file
  // from a directory of run.plugins.
  std::vector<std::string> refusals;
};

// Inspects a file without running code of the file. `path` may be relative or lead through links,
// which is then among the refusals. Errors: see PluginFile::read.
absl::StatusOr<PluginReport> inspect_plugin(const std::string& path);

}  // namespace millrace

#endif  // MILLRACE_PLUGIN_PLUGIN_REPORT_H_
