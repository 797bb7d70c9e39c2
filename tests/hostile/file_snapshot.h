// A snapshot of the files below a directory, for comparison with a later snapshot.
#ifndef MILLRACE_TESTS_HOSTILE_FILE_SNAPSHOT_H_
#define MILLRACE_TESTS_HOSTILE_FILE_SNAPSHOT_H_

#include <map>
#include <string>
#include <vector>

namespace millrace {

// Maps the path relative to the directory to kind, mode and content of the file. A file that was
// replaced by equal bytes differs, too. Links are not followed.
using FileSnapshot = std::map<std::string, std::string>;

FileSnapshot take_snapshot(const std::string& directory);

struct FileChange {
  std::string path;
  std::string what;  // "appeared", "changed" or "is gone"
};

// Returns the changes, sorted by path.
std::vector<FileChange> changes_between(const FileSnapshot& before, const FileSnapshot& after);

}  // namespace millrace

#endif  // MILLRACE_TESTS_HOSTILE_FILE_SNAPSHOT_H_
