// A file system that waits or fails at places chosen by a test.
#ifndef MILLRACE_TESTS_FAKES_GATED_FILE_SYSTEM_H_
#define MILLRACE_TESTS_FAKES_GATED_FILE_SYSTEM_H_

#include <memory>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/memory_file_system_testing.h"
#include "base/mutex.h"

namespace millrace {

// Blocks the creation of a file whose path contains the text of hold() until release(). Returns
// Unavailable for a file whose path contains the text of fail(), and for a directory whose path
// contains the text of fail_directories(). Thread-safe.
class GatedFileSystem : public MemoryFileSystem {
 public:
  // An empty text blocks nothing.
  void hold(const std::string& text) {
    MutexLock lock(mutex_);
    held_ = text;
  }
  void release() { hold(""); }
  void fail(const std::string& text) {
    MutexLock lock(mutex_);
    failing_ = text;
  }

  void fail_directories(const std::string& text) {
    MutexLock lock(mutex_);
    failing_directories_ = text;
  }

  absl::Status create_directories(const std::string& path) override {
    {
      MutexLock lock(mutex_);
      if (!failing_directories_.empty() && path.find(failing_directories_) != std::string::npos) {
        return absl::UnavailableError("injected");
      }
    }
    return MemoryFileSystem::create_directories(path);
  }
  absl::StatusOr<std::unique_ptr<PositionedFile>> create_new(const std::string& path,
                                                             int64_t size_bytes) override {
    {
      MutexLock lock(mutex_);
      mutex_.await([&] { return held_.empty() || path.find(held_) == std::string::npos; });
      if (!failing_.empty() && path.find(failing_) != std::string::npos) {
        return absl::UnavailableError("injected");
      }
    }
    return MemoryFileSystem::create_new(path, size_bytes);
  }

 private:
  Mutex mutex_;
  std::string held_ ABSL_GUARDED_BY(mutex_);
  std::string failing_ ABSL_GUARDED_BY(mutex_);
  std::string failing_directories_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace millrace

#endif  // MILLRACE_TESTS_FAKES_GATED_FILE_SYSTEM_H_
