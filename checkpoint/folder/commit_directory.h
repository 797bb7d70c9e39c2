// Writing a checkpoint so that it appears at once, whole and durable, or not at all. The protocol
// is in docs/checkpoint_format.md.
#ifndef MILLRACE_CHECKPOINT_FOLDER_COMMIT_DIRECTORY_H_
#define MILLRACE_CHECKPOINT_FOLDER_COMMIT_DIRECTORY_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "base/file_system.h"
#include "base/thread_pool.h"
#include "checkpoint/folder/kept_files.h"
#include "checkpoint/format/chunked_file.h"
#include "checkpoint/format/tensor_file_layout.h"
#include "proto/checkpoint_manifest.pb.h"

namespace millrace {

struct CommitOptions {
  std::string
      folder;  // of checkpoints; the writer holds its lock (checkpoint/folder/directory_lock.h)
  int64_t step = 0;
  std::string nonce;  // the same on all ranks (checkpoint/format/checkpoint_names.h)
  int rank = 0;
  int world_size = 1;
  // Safetensors files whose bytes the checkpoint of this step in `folder` has are not written
  // again: they get a second name, a hard link, in the new one.
  bool keep_files = false;
};

// One rank's part in one checkpoint. Every rank writes its files and finishes them; when all have,
// rank 0 commits. Not thread-safe. After an error only discard() may be called.
//
//   ASSIGN_OR_RETURN(auto writer, CommitDirectory::begin(files, options));
//   RETURN_IF_ERROR(writer->write_tensors(entry, layout, fill, threads));
//   RETURN_IF_ERROR(writer->write(entry, bytes));
//   ASSIGN_OR_RETURN(std::vector<File> mine, writer->finish_files(threads));
//   ... manifest.files: those of all ranks; on rank 0:
//   ASSIGN_OR_RETURN(bool written, writer->commit(manifest, threads));
class CommitDirectory {
 public:
  using File = CheckpointManifest::File;

  // Makes the temporary directory, which begin() of other ranks looks for. Called on rank 0, which
  // chose the nonce, before the other ranks get it. Errors: those of writing.
  static absl::Status make(FileSystem& files, const CommitOptions& options);
  // On rank 0 makes the temporary directory, if make() has not. Borrows `files`.
  // Errors: InvalidArgument for bad options; FailedPrecondition on another rank that does not see
  // the directory of rank 0, so that their folders are not the same; those of writing.
  static absl::StatusOr<std::unique_ptr<CommitDirectory>> begin(FileSystem& files,
                                                                CommitOptions options);
  // On rank 0 what was not committed is discarded.
  ~CommitDirectory();
  CommitDirectory(const CommitDirectory&) = delete;
  CommitDirectory& operator=(const CommitDirectory&) = delete;

  // Writes a safetensors file. Of `entry` name, kind and, for a table, table and hashes are given.
  // The bytes do not depend on the number of threads. Errors: those of `fill`; those of writing;
  // with keep_files ResourceExhausted, before anything is written, if there is no room for a file
  // that cannot be kept.
  absl::Status write_tensors(const File& entry, const TensorFileLayout& layout,
                             const TensorFileLayout::Fill& fill, ThreadPool& threads);
  // Writes a small file: name and kind are given.
  absl::Status write(const File& entry, absl::string_view content);

  // Syncs and closes all files and writes the chunks file. Returns: the entries of all of them.
  absl::StatusOr<std::vector<File>> finish_files(ThreadPool& threads);

  // Makes it a checkpoint: durable when this returns. Digest, version and world size of `manifest`
  // are set here. Returns: false if the same checkpoint was there already, valid to the last
  // byte; nothing has changed then.
  // REQUIRES: rank 0; all ranks have finished their files, which `manifest` names.
  // Errors: InvalidArgument for a manifest that breaks a rule; those of writing. Unless the very
  // last sync failed, whatever was there before is there still.
  absl::StatusOr<bool> commit(CheckpointManifest manifest, ThreadPool& threads);

  // Removes the temporary directory; of all ranks. Errors: those of removing; what is left goes
  // with the next clean-up.
  absl::Status discard();

  // Where files are until commit.
  const std::string& temporary() const { return temporary_; }
  // Where they are afterwards.
  const std::string& path() const { return path_; }

 private:
  CommitDirectory(FileSystem& files, CommitOptions options);
  absl::StatusOr<WrittenFile> write_or_keep(const std::string& name, int64_t size_bytes,
                                            const KeptFiles::Fill& fill, ThreadPool& threads);
  absl::Status add(File entry, WrittenFile written);
  absl::Status write_manifest(absl::string_view text);
  absl::Status replace(bool exists);

  FileSystem& files_;
  const CommitOptions options_;
  const std::string temporary_, path_;
  std::unique_ptr<KeptFiles> kept_;  // null: every file is written
  std::vector<File> entries_;
  std::vector<WrittenFile> written_;
  bool done_ = false;  // committed or discarded
};

// Whether a checkpoint of `content` (equal_content; files do not matter) is at `path`, valid to the
// last byte and durable.
bool is_saved(FileSystem& files, const std::string& path, const CheckpointManifest& content,
              ThreadPool& threads);

// Errors: PermissionDenied naming what has the name of a checkpoint in `folder` and is no
// directory: that step could not be saved; those of listing.
absl::Status check_names(FileSystem& files, const std::string& folder);

// Errors: ResourceExhausted, with both numbers, if `bytes` more do not fit where `folder` is;
// those of reading.
absl::Status check_free_space(FileSystem& files, const std::string& folder, int64_t bytes);

// Removes a checkpoint: renames it aside first, durably, so that it is never there in part.
// Errors: FailedPrecondition if the name is not that of a checkpoint; those of writing.
absl::Status remove_checkpoint(FileSystem& files, const std::string& path);

// Finishes what writers that are dead left undone in a folder. REQUIRES: nobody writes there: the
// caller holds the lock. Returns: one line for each thing done, for people.
// Errors: those of reading and writing.
absl::StatusOr<std::vector<std::string>> clean_up(FileSystem& files, const std::string& folder);

}  // namespace millrace

#endif  // MILLRACE_CHECKPOINT_FOLDER_COMMIT_DIRECTORY_H_
