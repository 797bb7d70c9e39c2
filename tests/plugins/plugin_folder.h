// A folder that plugins may be loaded from.
#ifndef MILLRACE_TESTS_PLUGINS_PLUGIN_FOLDER_H_
#define MILLRACE_TESTS_PLUGINS_PLUGIN_FOLDER_H_

#include <string>

#include "absl/strings/string_view.h"

namespace millrace {

// A new folder for plugins. All directories above the folder have the required owners and
// permissions, even if the test folder has not. Removed on destruction.
class PluginFolder {
 public:
  PluginFolder();
  ~PluginFolder();
  PluginFolder(const PluginFolder&) = delete;
  PluginFolder& operator=(const PluginFolder&) = delete;

  const std::string& path() const { return path_; }
  // Returns the path of a file in the folder.
  std::string file(absl::string_view name) const;
  // Writes a file of mode 0644 to the folder. Returns its path.
  std::string write(absl::string_view name, absl::string_view bytes) const;
  // Writes a copy of a data file of the test, such as "examples/plugins/x.so". Returns its path.
  std::string copy(absl::string_view name, const std::string& runfile) const;

 private:
  std::string path_;
};

// Returns the bytes of a data file.
std::string read_runfile(const std::string& runfile);

}  // namespace millrace

#endif  // MILLRACE_TESTS_PLUGINS_PLUGIN_FOLDER_H_
