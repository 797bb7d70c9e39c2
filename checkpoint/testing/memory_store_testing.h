// An object store in memory, for tests.
#ifndef MILLRACE_CHECKPOINT_TESTING_MEMORY_STORE_TESTING_H_
#define MILLRACE_CHECKPOINT_TESTING_MEMORY_STORE_TESTING_H_

#include <memory>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "base/forwarding_file_system.h"
#include "base/memory_file_system_testing.h"

namespace millrace {

// Objects in memory: an object appears with close(), and a directory is a prefix of objects.
class MemoryStore : public ForwardingFileSystem {
 public:
  MemoryStore() : ForwardingFileSystem(memory_) {}
  absl::StatusOr<std::unique_ptr<WritableFile>> create(const std::string& path) override {
    class Upload : public WritableFile {
     public:
      Upload(MemoryFileSystem& memory, std::string path)
          : memory_(memory), path_(std::move(path)) {}
      absl::Status append(absl::string_view bytes) override {
        absl::StrAppend(&content_, bytes);
        return absl::OkStatus();
      }
      absl::Status sync() override { return absl::OkStatus(); }
      absl::Status close() override {
        memory_.put(path_, content_);
        return absl::OkStatus();
      }

     private:
      MemoryFileSystem& memory_;
      const std::string path_;
      std::string content_;
    };
    return std::make_unique<Upload>(memory_, path);
  }
  // Nothing else may be asked of a store.
  absl::Status rename(const std::string& from, const std::string&) override {
    return absl::PermissionDeniedError(from);
  }
  absl::Status create_directories(const std::string& path) override {
    return absl::PermissionDeniedError(path);
  }
  MemoryFileSystem& memory() { return memory_; }

 private:
  MemoryFileSystem memory_;
};

}  // namespace millrace

#endif  // MILLRACE_CHECKPOINT_TESTING_MEMORY_STORE_TESTING_H_
