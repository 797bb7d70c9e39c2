// Collects the files that were left out as bad data.
#ifndef MILLRACE_IO_FILES_BAD_FILES_H_
#define MILLRACE_IO_FILES_BAD_FILES_H_

#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "base/mutex.h"

namespace millrace {

// Files that bad_data: SKIP left out of a data set, each once, whether all of its windows or only
// some are open. Thread-safe.
class BadFiles {
 public:
  void add(const std::string& path);

  int64_t count() const;
  // The first `limit` by name.
  std::vector<std::string> paths(int64_t limit) const;
  // "2 files left out as bad data: a.orc, b.orc", with at most `limit` names; "" if there is none.
  std::string to_string(int64_t limit) const;

 private:
  mutable Mutex mutex_;
  std::set<std::string> paths_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace millrace

#endif  // MILLRACE_IO_FILES_BAD_FILES_H_
