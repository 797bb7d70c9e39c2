#include "tools/output_place.h"

#include <fcntl.h>
#include <unistd.h>

#include "absl/strings/str_cat.h"

namespace millrace {

absl::Status check_output_place(FileSystem& files, const std::string& path) {
  const std::string above = directory_of(path);
  const auto refuse = [&](absl::string_view what) {
    return absl::PermissionDeniedError(absl::StrCat("cannot write ", path, ": ", what));
  };
  const absl::StatusOr<FileInfo> info = files.info(above);
  if (!info.ok()) {
    return refuse(absl::StrCat("there is no directory ", above, "; make it, or choose another"));
  }
  if (!info->is_directory) return refuse(absl::StrCat(above, " is no directory; choose another"));
  if (::faccessat(AT_FDCWD, above.c_str(), W_OK | X_OK, AT_EACCESS) != 0) {
    return refuse(absl::StrCat(above, " is not writable; choose another directory"));
  }
  return absl::OkStatus();
}

}  // namespace millrace
