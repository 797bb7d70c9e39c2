#include "base/path/rereadable.h"

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"

namespace millrace {

absl::Status check_rereadable(FileSystem& files, const std::string& path) {
  ASSIGN_OR_RETURN(const FileInfo info, files.info(path));
  return check_rereadable(path, info);
}

absl::Status check_rereadable(const std::string& path, const FileInfo& info) {
  if (info.is_directory || info.kind != FileKind::kOther) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("cannot read ", path,
                   ": it is a pipe or a device, which gives its bytes once, and this file is read "
                   "in pieces or more than once: write it to a file and name that"));
}

}  // namespace millrace
