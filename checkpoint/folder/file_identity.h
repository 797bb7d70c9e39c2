// Which content a file has.
#ifndef MILLRACE_CHECKPOINT_FOLDER_FILE_IDENTITY_H_
#define MILLRACE_CHECKPOINT_FOLDER_FILE_IDENTITY_H_

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "base/file_system.h"

namespace millrace {

struct FileIdentity {
  int64_t size_bytes = 0;
  std::string digest;  // file_digest, as manifests write it

  friend bool operator==(const FileIdentity&, const FileIdentity&) = default;
};

// Reads all of a file, a chunk at a time. Errors: those of reading; InvalidArgument for a pipe or a
// device; Aborted if it becomes shorter meanwhile.
absl::StatusOr<FileIdentity> identify_file(FileSystem& files, const std::string& path);

}  // namespace millrace

#endif  // MILLRACE_CHECKPOINT_FOLDER_FILE_IDENTITY_H_
