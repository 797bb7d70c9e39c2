// Files that are named by URIs.
#ifndef MILLRACE_IO_FILES_URI_FILE_SYSTEM_H_
#define MILLRACE_IO_FILES_URI_FILE_SYSTEM_H_

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/file_system.h"
#include "base/mutex.h"

namespace arrow::fs {
class FileSystem;
}

namespace millrace {

// Reads what paths such as s3://bucket/key, gs://bucket/key, hdfs://host:port/path and file:///path
// name, through Arrow's file systems; all other paths belong to another file system. The name
// behind the bucket or host is used verbatim: nothing in it is an escape or a query. Where the
// service is and who asks comes from the environment: AWS_ENDPOINT_URL, AWS_REGION,
// AWS_ACCESS_KEY_ID and the like (docs/data.md). A connection is kept for each bucket or host. A
// registered scheme (io/files/file_system_registry.h) is read by the registered file system.
//
// Objects of buckets (s3, gs, gcs) can be created, replaced and removed: create() uploads an
// object, which appears, whole, when close() returns; a file that is destroyed before leaves no
// object. An upload holds one part (10 MB). remove() of a directory removes the marker of an empty
// one. All other writing, and any writing for other schemes, is PermissionDenied. Other errors are
// as FileSystem's; Unavailable also for a service that does not answer, InvalidArgument for a
// scheme that neither Arrow nor the registry knows.
class UriFileSystem : public FileSystem, public HardLinks {
 public:
  // Sets `files` to those of a bucket or host. Arrow does so unless a test does.
  using Connect = std::function<absl::Status(const std::string& uri,
                                             std::shared_ptr<arrow::fs::FileSystem>* files)>;

  // Borrows `local`.
  explicit UriFileSystem(FileSystem& local);
  UriFileSystem(FileSystem& local, Connect connect) : local_(local), connect_(std::move(connect)) {}

  absl::StatusOr<std::unique_ptr<ReadableFile>> open(const std::string& path) override;
  absl::StatusOr<std::unique_ptr<WritableFile>> create(const std::string& path) override;
  absl::StatusOr<std::unique_ptr<WritableFile>> open_for_append(const std::string& path) override;
  absl::StatusOr<std::unique_ptr<PositionedFile>> create_new(const std::string& path,
                                                             int64_t size_bytes) override;
  absl::StatusOr<std::unique_ptr<WritableFile>> create_replacement(
      const std::string& path, const std::string& like) override;
  absl::StatusOr<FileInfo> info(const std::string& path) override;
  absl::StatusOr<FileInfo> link_info(const std::string& path) override;
  absl::StatusOr<std::vector<std::string>> glob(const std::string& pattern) override;
  absl::StatusOr<std::vector<DirectoryEntry>> list(const std::string& path) override;
  absl::Status create_directories(const std::string& path) override;
  absl::Status rename(const std::string& from, const std::string& to) override;
  absl::Status link(const std::string& from, const std::string& to) override;
  absl::Status remove(const std::string& path) override;
  absl::Status sync_directory(const std::string& path) override;
  absl::StatusOr<int64_t> free_bytes(const std::string& path) override;
  absl::StatusOr<std::unique_ptr<FileLock>> lock(const std::string& path) override;

  // Above FileSystem::local(); lives as long as the process.
  static UriFileSystem& process();

 private:
  // A path among the files of Arrow.
  struct Place {
    std::shared_ptr<arrow::fs::FileSystem> files;
    std::string path;
  };
  absl::StatusOr<Place> place(const std::string& uri);
  // Returns the file system that reads `path` without Arrow: the file system of a registered
  // scheme, or the local one for a path that is no URI; null for other URIs.
  absl::StatusOr<FileSystem*> other(const std::string& path);
  // Appends what matches the names from `at` on, below `directory`.
  absl::Status match(const std::string& directory, const std::vector<std::string>& names, size_t at,
                     std::vector<std::string>& found);

  FileSystem& local_;
  const Connect connect_;
  Mutex mutex_;
  // Keyed by scheme and authority. Connecting to one may take long and holds no other up.
  struct Connection {
    Mutex mutex;
    std::shared_ptr<arrow::fs::FileSystem> files ABSL_GUARDED_BY(mutex);
  };
  std::map<std::string, std::unique_ptr<Connection>> connections_ ABSL_GUARDED_BY(mutex_);
  // Keyed by scheme; null for Arrow's schemes.
  std::map<std::string, std::unique_ptr<FileSystem>> registered_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace millrace

#endif  // MILLRACE_IO_FILES_URI_FILE_SYSTEM_H_
