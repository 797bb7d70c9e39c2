#include "job/output_place.h"

#include <fcntl.h>
#include <unistd.h>

#include "absl/strings/str_cat.h"
#include "base/path/path_check.h"
#include "base/status_macros.h"

namespace millrace {

bool writable(const std::string& path, bool is_directory) {
  const int mode = is_directory ? W_OK | X_OK : W_OK;
  return ::faccessat(AT_FDCWD, path.c_str(), mode, AT_EACCESS) == 0;
}

absl::Status check_output_place(FileSystem& files, const std::string& path) {
  RETURN_IF_ERROR(check_shell_path(path));
  const std::string above = directory_of(path);
  const auto refuse = [&](absl::string_view what) {
    return absl::PermissionDeniedError(absl::StrCat("cannot write ", path, ": ", what));
  };
  const absl::StatusOr<FileInfo> info = files.info(above);
  if (!info.ok()) {
    return refuse(absl::StrCat("there is no directory ", above, "; make it, or choose another"));
  }
  if (!info->is_directory) return refuse(absl::StrCat(above, " is no directory; choose another"));
  if (!writable(above, /*is_directory=*/true)) {
    return refuse(absl::StrCat(above, " is not writable; choose another directory"));
  }
  return absl::OkStatus();
}

absl::Status check_output_file(FileSystem& files, const std::string& path) {
  if (path.empty()) return absl::InvalidArgumentError("it is empty; name a file");
  const absl::StatusOr<FileInfo> there = files.info(path);
  if (there.ok() && there->is_directory) {
    return absl::PermissionDeniedError(absl::StrCat(path, " is a directory"));
  }
  // The file would be replaced.
  if (there.ok() && there->kind == FileKind::kOther) {
    return absl::PermissionDeniedError(absl::StrCat(path, " is no regular file; choose another"));
  }
  return check_output_place(files, path);
}

}  // namespace millrace
