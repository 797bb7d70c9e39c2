#include "tests/plugins/plugin_folder.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "absl/strings/str_cat.h"
#include "base/file_system.h"
#include "base/status_matchers.h"

namespace millrace {

// The folder is in /tmp, which belongs to root and is sticky: the folders above TEST_TMPDIR may be
// writable by a group.
PluginFolder::PluginFolder() {
  std::string path = "/tmp/millrace_plugins.XXXXXX";
  EXPECT_NE(::mkdtemp(path.data()), nullptr);
  path_ = path;
}

PluginFolder::~PluginFolder() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

std::string PluginFolder::file(absl::string_view name) const {
  return absl::StrCat(path_, "/", name);
}

std::string PluginFolder::write(absl::string_view name, absl::string_view bytes) const {
  const std::string path = file(name);
  std::ofstream(path, std::ios::binary).write(bytes.data(), bytes.size());
  EXPECT_EQ(::chmod(path.c_str(), 0644), 0);
  return path;
}

std::string PluginFolder::copy(absl::string_view name, const std::string& runfile) const {
  return write(name, read_runfile(runfile));
}

std::string read_runfile(const std::string& runfile) {
  const absl::StatusOr<std::string> bytes = read_file(FileSystem::local(), runfile);
  EXPECT_OK(bytes.status());
  return bytes.value_or("");
}

}  // namespace millrace
