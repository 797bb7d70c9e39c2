// Folders of checkpoints in an object store, which has neither directories nor renames.
#ifndef MILLRACE_CHECKPOINT_OBJECTS_OBJECT_FILES_H_
#define MILLRACE_CHECKPOINT_OBJECTS_OBJECT_FILES_H_

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "base/clock.h"
#include "base/forwarding_file_system.h"
#include "base/mutex.h"
#include "checkpoint/format/checkpoint_names.h"

namespace millrace {

// The object in a folder that names its newest checkpoint.
inline constexpr char kPointerName[] = "newest";

// Gives a folder of checkpoints behind a URI the form of a local one, so that everything that reads
// and writes checkpoints does so there too. Paths without a scheme, and URIs outside of
// checkpoints, go to the file system below unchanged.
//
// The objects of a checkpoint have the prefix FOLDER/step-00001000-NONCE/, which no other attempt
// and no later checkpoint of this step uses. A checkpoint exists when its manifest does:
//
//   here                                       in the store
//   make step-1.tmp-NONCE                      put step-1-NONCE/writing
//   write step-1.tmp-NONCE/NAME                upload step-1-NONCE/NAME
//   write step-1.tmp-NONCE/manifest.json       nothing, until the rename
//   rename step-1.tmp-NONCE to step-1          remove writing, put step-1-NONCE/manifest.json
//   sync FOLDER                                put newest, if a checkpoint was added
//   rename step-1 to step-1.removed-NONCE      remove the manifest
//   lock FOLDER/lock                           checkpoint/objects/object_lease.h
//
// Of several checkpoints of a step, of which a dead writer left one, the step's is the one that the
// object `newest` names, or else the one with the last name; the others are `.old`. A checkpoint
// without a nonce, such as a local one that was copied there, is read as well. Thread-safe.
class ObjectFiles : public ForwardingFileSystem {
 public:
  // Borrows `under`, which must create, replace and remove files behind URIs, and `clock`.
  ObjectFiles(FileSystem& under, Clock& clock) : ForwardingFileSystem(under), clock_(clock) {}
  // Above UriFileSystem::process(); lives as long as the process.
  static ObjectFiles& process();

  // Sets the time after which a lock that nobody renews counts as free, for later calls of lock().
  void set_lease(absl::Duration period);

  absl::StatusOr<std::unique_ptr<ReadableFile>> open(const std::string& path) override;
  absl::StatusOr<std::unique_ptr<WritableFile>> create(const std::string& path) override;
  absl::StatusOr<std::unique_ptr<PositionedFile>> create_new(const std::string& path,
                                                             int64_t size_bytes) override;
  absl::StatusOr<FileInfo> info(const std::string& path) override;
  absl::StatusOr<FileInfo> link_info(const std::string& path) override;
  absl::StatusOr<std::vector<DirectoryEntry>> list(const std::string& path) override;
  absl::Status create_directories(const std::string& path) override;
  // Errors, of a rename that commits: Aborted if another process has changed the object `newest`
  // since this one locked the folder.
  absl::Status rename(const std::string& from, const std::string& to) override;
  absl::Status link(const std::string& from, const std::string& to) override;
  absl::Status remove(const std::string& path) override;
  absl::Status sync_directory(const std::string& path) override;
  absl::StatusOr<int64_t> free_bytes(const std::string& path) override;
  absl::StatusOr<std::unique_ptr<FileLock>> lock(const std::string& path) override;

 private:
  // FOLDER/ENTRY/REST, where ENTRY is the name of a checkpoint.
  struct Place {
    std::string folder, entry;
    std::string rest;  // "": the directory of the checkpoint
    CheckpointName name;
    std::string path() const { return join_path(folder, entry); }
  };
  // What this process knows of a folder that it writes to.
  struct Folder {
    std::string pointer;       // content of `newest`; "": none
    std::string next_pointer;  // to be put; "": none
  };
  // The names of the prefixes of a step, ascending, of checkpoints and of what has no manifest.
  struct Step {
    std::vector<std::string> whole, unfinished;
  };

  static std::optional<Place> place_of(const std::string& path);
  absl::StatusOr<std::string> object_path(const Place& place);
  absl::StatusOr<std::string> resolve(const std::string& path);
  absl::StatusOr<std::map<int64_t, Step>> find_steps(const std::string& folder,
                                                     const std::vector<DirectoryEntry>& entries,
                                                     std::optional<int64_t> only);
  absl::StatusOr<std::string> read_pointer(const std::string& folder);
  absl::Status commit(const Place& from, const Place& to);
  absl::Status remove_manifest(const Place& from, const Place& to);

  Clock& clock_;
  Mutex mutex_;
  absl::Duration lease_ ABSL_GUARDED_BY(mutex_) = absl::Seconds(15);
  // The prefixes in which the manifests of checkpoints were found last. Whoever reads a checkpoint
  // begins with its manifest, so the other files are those of that prefix.
  std::map<std::string, std::string> found_ ABSL_GUARDED_BY(mutex_);
  // Paths of old and removed checkpoints that this process renamed, and their prefixes.
  std::map<std::string, std::string> renamed_ ABSL_GUARDED_BY(mutex_);
  // Manifests of unfinished checkpoints, by the path of their directory.
  std::map<std::string, std::string> manifests_ ABSL_GUARDED_BY(mutex_);
  std::map<std::string, Folder> folders_ ABSL_GUARDED_BY(mutex_);  // those that were locked
};

}  // namespace millrace

#endif  // MILLRACE_CHECKPOINT_OBJECTS_OBJECT_FILES_H_
