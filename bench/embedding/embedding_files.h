// Files of the benchmark of embedding tables for other programs.
#ifndef MILLRACE_BENCH_EMBEDDING_EMBEDDING_FILES_H_
#define MILLRACE_BENCH_EMBEDDING_EMBEDDING_FILES_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "base/file_system.h"
#include "base/path/file_sizes.h"

namespace millrace {

// Writes files into a directory. Replaces only files of earlier runs, which the file
// `.bench_embedding` lists with their sizes in bytes. Used by one thread.
class EmbeddingFiles {
 public:
  // Checks the directory before the work begins. Borrows `files`. `names`: the names of the files
  // that write() will get. `overwrite`: if true, other files of these names are replaced too.
  // Errors: PermissionDenied naming an existing file that is not empty and not listed, or a
  // directory that is missing or in the place of checkpoints (check_outside_checkpoints());
  // InvalidArgument of check_shell_path().
  static absl::StatusOr<EmbeddingFiles> open(FileSystem& files, const std::string& directory,
                                             const std::vector<std::string>& names, bool overwrite);

  // Writes a file and lists it. Errors: as write_file_atomically().
  absl::Status write(const std::string& name, absl::string_view bytes);

 private:
  EmbeddingFiles(FileSystem& files, std::string directory)
      : files_(files), directory_(std::move(directory)) {}

  void read_list();
  absl::Status check(const std::string& name) const;

  FileSystem& files_;
  const std::string directory_;
  FileSizes sizes_;  // of the files listed
};

}  // namespace millrace

#endif  // MILLRACE_BENCH_EMBEDDING_EMBEDDING_FILES_H_
