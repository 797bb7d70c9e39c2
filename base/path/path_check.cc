#include "base/path/path_check.h"

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
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

namespace {

bool is_name(char c) { return absl::ascii_isalnum(c) || c == '_'; }

// True if the name that contains path[at] follows "./", by which users mark a literal name.
bool is_meant(absl::string_view path, size_t at) {
  const absl::string_view folder = path.substr(0, path.substr(0, at).rfind('/') + 1);
  return absl::StartsWith(path, "./") || absl::EndsWith(folder, "/./");
}

// Returns the first part of a path that a shell would replace, or "".
std::string shell_part(absl::string_view path) {
  if (absl::StartsWith(path, "~")) return std::string(path.substr(0, path.find('/')));
  for (size_t at = path.find('$'); at != absl::string_view::npos; at = path.find('$', at + 1)) {
    const bool braces = path.substr(at + 1, 1) == "{";
    size_t end = at + 1 + braces;
    while (end < path.size() && is_name(path[end])) ++end;
    if (end == at + 1 + braces || is_meant(path, at)) continue;  // no name, or not the shell's
    return std::string(path.substr(at, end + braces - at));
  }
  return "";
}

}  // namespace

absl::Status check_shell_path(absl::string_view path) {
  const std::string part = shell_part(path);
  if (part.empty()) return absl::OkStatus();
  // The same name behind "./": at the begin of the path, or of the part of an absolute one.
  const size_t at =
      absl::StartsWith(path, "/") ? path.substr(0, path.find(part)).rfind('/') + 1 : 0;
  return absl::InvalidArgumentError(absl::StrCat("\"", path, "\": only a shell replaces ", part,
                                                 ", here it is a name; write the whole path, or \"",
                                                 path.substr(0, at), "./", path.substr(at),
                                                 "\" for that name"));
}

}  // namespace millrace
