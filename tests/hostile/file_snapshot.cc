#include "tests/hostile/file_snapshot.h"

#include <sys/stat.h>
#include <unistd.h>

#include <climits>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "absl/strings/str_cat.h"

namespace millrace {
namespace {

std::string describe(const std::string& path) {
  struct stat info;
  if (::lstat(path.c_str(), &info) != 0) return "cannot be looked at";
  std::string text = absl::StrCat("mode ", info.st_mode);
  if (S_ISLNK(info.st_mode)) {
    char target[PATH_MAX];
    const ssize_t size = ::readlink(path.c_str(), target, sizeof target);
    return absl::StrCat(text, " to ", std::string(target, size > 0 ? size : 0));
  }
  if (!S_ISREG(info.st_mode)) return text;
  std::ostringstream content;
  content << std::ifstream(path, std::ios::binary).rdbuf();
  return absl::StrCat(text, " file ", info.st_ino, " of ", info.st_mtim.tv_sec, ".",
                      info.st_mtim.tv_nsec, ": ", content.str());
}

}  // namespace

FileSnapshot take_snapshot(const std::string& directory) {
  namespace fs = std::filesystem;
  FileSnapshot snapshot;
  const auto options = fs::directory_options::skip_permission_denied;
  for (const fs::directory_entry& entry : fs::recursive_directory_iterator(directory, options)) {
    snapshot[entry.path().lexically_relative(directory).string()] = describe(entry.path());
  }
  return snapshot;
}

std::vector<FileChange> changes_between(const FileSnapshot& before, const FileSnapshot& after) {
  std::map<std::string, std::string> changes;
  for (const auto& [path, file] : before) {
    const auto found = after.find(path);
    if (found == after.end()) {
      changes[path] = "is gone";
    } else if (found->second != file) {
      changes[path] = "changed";
    }
  }
  for (const auto& [path, file] : after) {
    if (before.count(path) == 0) changes[path] = "appeared";
  }
  std::vector<FileChange> list;
  for (const auto& [path, what] : changes) list.push_back({path, what});
  return list;
}

}  // namespace millrace
