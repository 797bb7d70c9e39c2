#include "io/files/bad_files.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace millrace {

void BadFiles::add(const std::string& path) {
  MutexLock lock(mutex_);
  paths_.insert(path);
}

int64_t BadFiles::count() const {
  MutexLock lock(mutex_);
  return static_cast<int64_t>(paths_.size());
}

std::vector<std::string> BadFiles::paths(int64_t limit) const {
  MutexLock lock(mutex_);
  std::vector<std::string> first;
  for (const std::string& path : paths_) {
    if (static_cast<int64_t>(first.size()) == limit) break;
    first.push_back(path);
  }
  return first;
}

std::string BadFiles::to_string(int64_t limit) const {
  const int64_t all = count();
  if (all == 0) return "";
  return absl::StrCat(all, all == 1 ? " file" : " files",
                      " left out as bad data: ", absl::StrJoin(paths(limit), ", "),
                      all > limit ? ", ..." : "");
}

}  // namespace millrace
