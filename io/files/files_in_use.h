// The files that threads are reading.
#ifndef MILLRACE_IO_FILES_FILES_IN_USE_H_
#define MILLRACE_IO_FILES_FILES_IN_USE_H_

#include <cstdint>
#include <set>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "base/mutex.h"

namespace millrace {

// Counts uses of files, which have numbers. Thread-safe.
class FilesInUse {
 public:
  // Marks a file as long as it lives. Must not outlive the FilesInUse.
  class Use {
   public:
    Use(FilesInUse& all, int64_t file) : all_(all), file_(file) { all_.add(file); }
    ~Use() { all_.remove(file_); }
    Use(const Use&) = delete;
    Use& operator=(const Use&) = delete;

   private:
    FilesInUse& all_;
    const int64_t file_;
  };

  // The files in use, each once, ascending.
  std::vector<int64_t> files() const {
    MutexLock lock(mutex_);
    const std::set<int64_t> distinct(files_.begin(), files_.end());
    return {distinct.begin(), distinct.end()};
  }

 private:
  void add(int64_t file) {
    MutexLock lock(mutex_);
    files_.insert(file);
  }
  void remove(int64_t file) {
    MutexLock lock(mutex_);
    files_.erase(files_.find(file));
  }

  mutable Mutex mutex_;
  std::multiset<int64_t> files_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace millrace

#endif  // MILLRACE_IO_FILES_FILES_IN_USE_H_
