// A folder in which plugins may lie.
#ifndef MILLRACE_TESTS_PLUGINS_PLUGIN_FOLDER_H_
#define MILLRACE_TESTS_PLUGINS_PLUGIN_FOLDER_H_

#include <string>

#include "absl/strings/string_view.h"

namespace millrace {

// A new folder for plugins. All directories above it have the right owners and permissions, also
// where the test folder has not. Removed with the object.
class PluginFolder {
 public:
  PluginFolder();
  ~PluginFolder();
  PluginFolder(const PluginFolder&) = delete;
  PluginFolder& operator=(const PluginFolder&) = delete;

  const std::string& path() const { return path_; }
  // Returns the path of a file there.
  std::string file(absl::string_view name) const;
  // Writes a file there, of mode 0644. Returns: its path.
  std::string write(absl::string_view name, absl::string_view bytes) const;
  // Writes a copy of a file that the test has as data, such as "examples/plugins/x.so". Returns:
  // its path.
  std::string copy(absl::string_view name, const std::string& runfile) const;

 private:
  std::string path_;
};

// Returns the bytes of such a file.
std::string read_runfile(const std::string& runfile);

}  // namespace millrace

#endif  // MILLRACE_TESTS_PLUGINS_PLUGIN_FOLDER_H_
