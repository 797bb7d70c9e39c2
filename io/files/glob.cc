#include "io/files/glob.h"

#include <algorithm>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "base/status_macros.h"

namespace millrace {

bool is_glob_pattern(absl::string_view path) {
  return path.find_first_of("*?[{") != absl::string_view::npos;
}

std::string literal_pattern(absl::string_view path) {
  std::string pattern;
  for (const char c : path) {
    if (absl::string_view("*?[]{},\\").find(c) != absl::string_view::npos) pattern += '\\';
    pattern += c;
  }
  return pattern;
}

namespace {

constexpr absl::string_view kAnyDirectories = "**";

// Appends `directory` and all directories below it.
absl::Status add_directories(FileSystem& files, const std::string& directory,
                             std::vector<std::string>* directories) {
  directories->push_back(directory);
  const auto entries = files.list(directory.empty() ? "." : directory);
  // The directory may have been removed since the listing.
  if (absl::IsNotFound(entries.status())) return absl::OkStatus();
  RETURN_IF_ERROR(entries.status());
  for (const DirectoryEntry& entry : *entries) {
    if (entry.kind != FileKind::kDirectory || absl::StartsWith(entry.name, ".")) continue;
    const std::string below = directory.empty() ? entry.name : join_path(directory, entry.name);
    RETURN_IF_ERROR(add_directories(files, below, directories));
  }
  return absl::OkStatus();
}

// Appends the files of a directory.
absl::Status add_files(FileSystem& files, const std::string& directory,
                       std::vector<std::string>* paths) {
  ASSIGN_OR_RETURN(const std::vector<DirectoryEntry> entries,
                   files.list(directory.empty() ? "." : directory));
  for (const DirectoryEntry& entry : entries) {
    if (absl::StartsWith(entry.name, ".")) continue;
    const std::string path = directory.empty() ? entry.name : join_path(directory, entry.name);
    bool is_file = entry.kind != FileKind::kDirectory;
    if (entry.kind == FileKind::kSymbolicLink) {
      const absl::StatusOr<FileInfo> target = files.info(path);
      if (absl::IsUnavailable(target.status())) return target.status();
      is_file = target.ok() && !target->is_directory;
    }
    if (is_file) paths->push_back(path);
  }
  return absl::OkStatus();
}

// The directories that stand before **; "" for the current one.
absl::StatusOr<std::vector<std::string>> bases_of(FileSystem& files, const std::string& pattern) {
  if (pattern.empty() || pattern == "/") return std::vector<std::string>{pattern};
  ASSIGN_OR_RETURN(const std::vector<std::string> found, files.glob(pattern));
  std::vector<std::string> bases;
  for (const std::string& path : found) {
    const absl::StatusOr<FileInfo> info = files.info(path);
    if (absl::IsUnavailable(info.status())) return info.status();
    if (info.ok() && info->is_directory) bases.push_back(path);
  }
  return bases;
}

absl::Status match(FileSystem& files, const std::string& pattern, std::vector<std::string>* paths) {
  const std::vector<std::string> parts = absl::StrSplit(pattern, '/');
  const auto deep = std::find(parts.begin(), parts.end(), kAnyDirectories);
  if (deep == parts.end()) {
    ASSIGN_OR_RETURN(const std::vector<std::string> found, files.glob(pattern));
    paths->insert(paths->end(), found.begin(), found.end());
    return absl::OkStatus();
  }
  std::string before = absl::StrJoin(parts.begin(), deep, "/");
  // The join of a pattern that begins with "/**" loses the slash.
  if (before.empty() && deep != parts.begin()) before.push_back('/');
  const std::string after = absl::StrJoin(deep + 1, parts.end(), "/");
  ASSIGN_OR_RETURN(const std::vector<std::string> bases, bases_of(files, before));
  std::vector<std::string> directories;
  for (const std::string& base : bases) {
    RETURN_IF_ERROR(add_directories(files, base, &directories));
  }
  for (const std::string& directory : directories) {
    if (after.empty()) {
      RETURN_IF_ERROR(add_files(files, directory, paths));
    } else {
      // Characters of a pattern in the name of a found directory are literal.
      const std::string below =
          directory.empty() ? after : join_path(literal_pattern(directory), after);
      RETURN_IF_ERROR(match(files, below, paths));
    }
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::vector<std::string>> deep_glob(FileSystem& files, const std::string& pattern) {
  if (!absl::StrContains(pattern, kAnyDirectories)) return files.glob(pattern);
  for (const absl::string_view part : absl::StrSplit(pattern, '/')) {
    if (part == kAnyDirectories || !absl::StrContains(part, kAnyDirectories)) continue;
    return absl::InvalidArgumentError(
        absl::StrCat(pattern,
                     ": ** stands for directories and must be a whole part of the path, as in "
                     "data/**/*.orc; within a name write *"));
  }
  std::vector<std::string> paths;
  RETURN_IF_ERROR(match(files, pattern, &paths));
  std::sort(paths.begin(), paths.end());
  paths.erase(std::unique(paths.begin(), paths.end()), paths.end());
  return paths;
}

absl::StatusOr<std::vector<std::string>> named_files(FileSystem& files, const std::string& path) {
  if (!is_glob_pattern(path)) return std::vector<std::string>{path};
  if (is_uri(path)) return deep_glob(files, path);
  const absl::StatusOr<FileInfo> info = files.info(path);
  if (info.ok() && info->kind == FileKind::kRegular) return std::vector<std::string>{path};
  return deep_glob(files, path);
}

}  // namespace millrace
