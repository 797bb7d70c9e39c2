// The identity of a file's content.
#ifndef MILLRACE_CHECKPOINT_FOLDER_FILE_IDENTITY_H_
#define MILLRACE_CHECKPOINT_FOLDER_FILE_IDENTITY_H_

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "base/file_system.h"

namespace millrace {

struct FileIdentity {
  int64_t size_bytes = 0;
  std::string digest;  // file_digest(), formatted as in manifests

  friend bool operator==(const FileIdentity&, const FileIdentity&) = default;
};

// Computes a file's identity, reading a chunk at a time. Errors: read errors; InvalidArgument for a
// pipe or a device; Aborted if the file becomes shorter while it is read.
absl::StatusOr<FileIdentity> identify_file(FileSystem& files, const std::string& path);

}  // namespace millrace

#endif  // MILLRACE_CHECKPOINT_FOLDER_FILE_IDENTITY_H_
