// The bytes of a plugin, as they are checked and loaded.
#ifndef MILLRACE_PLUGIN_PLUGIN_FILE_H_
#define MILLRACE_PLUGIN_PLUGIN_FILE_H_

#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace millrace {

// A sealed copy of a file in memory. Nobody can change the copy, also if the file changes, so
// that exactly the checked bytes are loaded. Owns the copy; movable.
class PluginFile {
 public:
  // Copies a file whose place and permissions are right: `path` is absolute, without `.`, `..` or
  // an empty part; no part of it is a symbolic link; it names a regular file; the file and every
  // directory above it belong to root or to the user of this process; group and others can write
  // neither of them, except directories of root with the sticky bit. If `directories` is given,
  // the file lies directly in one of them.
  // Errors: InvalidArgument naming the path and what to do; NotFound; PermissionDenied if the file
  // cannot be read; ResourceExhausted if there is no memory for it.
  static absl::StatusOr<PluginFile> open(const std::string& path,
                                         const std::vector<std::string>* directories = nullptr);

  // Copies any file that can be read, wherever it lies, to look at it.
  // Errors: NotFound, PermissionDenied, InvalidArgument if it is no regular file or empty.
  static absl::StatusOr<PluginFile> read(const std::string& path);

  PluginFile(PluginFile&& other) noexcept;
  PluginFile& operator=(PluginFile&& other) = delete;
  ~PluginFile();

  const std::string& path() const { return path_; }
  absl::string_view bytes() const { return bytes_; }
  // SHA-256 of bytes().
  const std::string& digest() const { return digest_; }
  // Returns the descriptor of the copy. It stays the file's.
  int descriptor() const { return descriptor_; }
  // Returns a path of the copy for the dynamic loader, by its descriptor. The loader takes files of
  // equal paths for one: a file that it has loaded must live as long as the process.
  std::string loadable_path() const;

 private:
  PluginFile(std::string path, int descriptor) : path_(std::move(path)), descriptor_(descriptor) {}
  static absl::StatusOr<PluginFile> copy(const std::string& path, int source);
  absl::Status fill(int source);

  std::string path_;
  int descriptor_ = -1;
  absl::string_view bytes_;  // mapped
  std::string digest_;
};

// Checks the form of a path of a plugin or of a directory of plugins, as open() does.
// Errors: InvalidArgument that does not name the path.
absl::Status check_plugin_path(absl::string_view path);

}  // namespace millrace

#endif  // MILLRACE_PLUGIN_PLUGIN_FILE_H_
