// The bytes of a plugin for checking and loading.
#ifndef MILLRACE_PLUGIN_PLUGIN_FILE_H_
#define MILLRACE_PLUGIN_PLUGIN_FILE_H_

#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace millrace {

// A sealed copy of a file in memory. The copy is immutable even if the file changes, so that
// exactly the checked bytes are loaded. Owns the copy; movable.
class PluginFile {
 public:
  // Copies a file with a valid place and valid permissions: `path` is absolute, without `.`, `..`
  // or an empty part; no part is a symbolic link; the path names a regular file; the file and every
  // directory above belong to root or to the user of the process; group and others have no write
  // access, except to directories of root with the sticky bit. If `directories` is given, the file
  // must be directly in one of the directories.
  // Errors: InvalidArgument with the path and a remedy; NotFound; PermissionDenied if the file
  // cannot be read; ResourceExhausted without enough memory.
  static absl::StatusOr<PluginFile> open(const std::string& path,
                                         const std::vector<std::string>* directories = nullptr);

  // Copies any readable file, in any place, for inspection. Errors: NotFound; PermissionDenied;
  // InvalidArgument if not a regular file or empty.
  static absl::StatusOr<PluginFile> read(const std::string& path);

  PluginFile(PluginFile&& other) noexcept;
  PluginFile& operator=(PluginFile&& other) = delete;
  ~PluginFile();

  const std::string& path() const { return path_; }
  absl::string_view bytes() const { return bytes_; }
  // SHA-256 of bytes().
  const std::string& digest() const { return digest_; }
  // Returns the descriptor of the copy, owned by the object.
  int descriptor() const { return descriptor_; }
  // Returns a path of the copy for the dynamic loader, by descriptor. The loader identifies files
  // by path, so a file that the loader has loaded must live as long as the process.
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

// Checks the form of the path of a plugin or of a directory of plugins, as open() does.
// Errors: InvalidArgument without the path.
absl::Status check_plugin_path(absl::string_view path);

}  // namespace millrace

#endif  // MILLRACE_PLUGIN_PLUGIN_FILE_H_
