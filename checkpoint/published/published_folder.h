// A folder of versions of a model that a run has published for servers (docs/publishing.md):
// copies of checkpoints, a list of them, and the files that the job refers to.
#ifndef MILLRACE_CHECKPOINT_PUBLISHED_PUBLISHED_FOLDER_H_
#define MILLRACE_CHECKPOINT_PUBLISHED_PUBLISHED_FOLDER_H_

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/clock.h"
#include "base/file_system.h"
#include "base/forwarding_file_system.h"
#include "proto/published_versions.pb.h"

namespace millrace {

inline constexpr char kVersionsName[] = "versions.json";  // the publishing run writes it
inline constexpr char kPinnedName[] = "pinned.json";      // operators write it
inline constexpr char kFilesFolder[] = "files";
inline constexpr int kPublishedFormatVersion = 1;

// Returns true if `folder` has a list of versions.
bool is_published_folder(FileSystem& files, const std::string& folder);

// Returns the list. Errors: NotFound if there is none; DataLoss naming the file for a text that is
// no list; Unimplemented for a newer format; read errors.
absl::StatusOr<PublishedVersions> read_versions(FileSystem& files, const std::string& folder);
// Replaces the list, durably. Errors: write errors.
absl::Status write_versions(FileSystem& files, const std::string& folder,
                            PublishedVersions versions);

// Returns the pinned version; none if no version is pinned. Errors: as read_versions(), but
// NotFound.
absl::StatusOr<std::optional<PinnedVersion>> read_pinned(FileSystem& files,
                                                         const std::string& folder);

// Returns the entry of a step: the published one, or else the newest; null: none.
const PublishedVersions::Version* find_version(const PublishedVersions& versions, int64_t step);
// Returns the entry if it is published; null: none.
const PublishedVersions::Version* find_published(const PublishedVersions& versions, int64_t step);

// The version that servers of a folder serve.
struct ServedVersion {
  int64_t step = 0;
  std::string digest;     // of the manifest
  std::string data_time;  // PublishedVersions::Version::data_time
};
// Returns the pinned version, or else the current one; none: nothing is published yet. Errors: as
// read_versions().
absl::StatusOr<std::optional<ServedVersion>> served_version(FileSystem& files,
                                                            const std::string& folder);

// Makes servers serve `step` until unpin(), or by default the version that was published before the
// served one. Training continues to publish. `reason`: for people; "": none.
// Returns the step. Errors: NotFound if there is no such version; FailedPrecondition if the step
// was refused or removed, also while it was pinned; write errors.
absl::StatusOr<int64_t> pin_version(FileSystem& files, const Clock& clock,
                                    const std::string& folder, std::optional<int64_t> step,
                                    const std::string& reason);
// Makes servers serve the newest published version again. Returns false if none was pinned.
absl::StatusOr<bool> unpin_version(FileSystem& files, const std::string& folder);

// A file system in which the files that the job refers to are their copies in the folder.
// Thread-safe.
class PublishedFiles : public ForwardingFileSystem {
 public:
  // Reads the list of `folder`. Borrows `under`. Errors: as read_versions().
  static absl::StatusOr<std::unique_ptr<PublishedFiles>> create(FileSystem& under,
                                                                const std::string& folder);

  absl::StatusOr<std::unique_ptr<ReadableFile>> open(const std::string& path) override;
  absl::StatusOr<FileInfo> info(const std::string& path) override;
  absl::StatusOr<FileInfo> link_info(const std::string& path) override;

 private:
  PublishedFiles(FileSystem& under, std::map<std::string, std::string> copies)
      : ForwardingFileSystem(under), copies_(std::move(copies)) {}
  const std::string& copy_of(const std::string& path) const;

  const std::map<std::string, std::string> copies_;  // by path of the job
};

}  // namespace millrace

#endif  // MILLRACE_CHECKPOINT_PUBLISHED_PUBLISHED_FOLDER_H_
