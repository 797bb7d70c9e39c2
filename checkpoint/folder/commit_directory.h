// Writes a checkpoint so that it appears at once, whole and durable, or not at all. The protocol is
// in docs/checkpoint_format.md.
#ifndef MILLRACE_CHECKPOINT_FOLDER_COMMIT_DIRECTORY_H_
#define MILLRACE_CHECKPOINT_FOLDER_COMMIT_DIRECTORY_H_

#include <atomic>
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
  // If true, safetensors files with the same bytes in the checkpoint of this step in `folder` are
  // not written again: the new checkpoint gets a hard link.
  bool keep_files = false;
  // The word of the folder's lock, compared before each rename (check_owner() of
  // checkpoint/folder/directory_lock.h). Default: not compared.
  std::string token = {};
  // If true, commit() also replaces a checkpoint with the same content (equal_content()), such as
  // one whose log of evicted ids differs in entries that readers skip.
  bool replaces_equal = false;
};

// One rank's part of one checkpoint. Every rank writes its files and finishes them; after all ranks
// have finished, rank 0 commits. Not thread-safe. After an error only discard() may be called.
//
//   ASSIGN_OR_RETURN(auto writer, CommitDirectory::begin(files, options));
//   RETURN_IF_ERROR(writer->write_tensors(entry, layout, fill, threads));
//   RETURN_IF_ERROR(writer->write(entry, bytes));
//   ASSIGN_OR_RETURN(std::vector<File> mine, writer->finish_files(threads));
//   ... manifest.files: the files of all ranks; on rank 0:
//   ASSIGN_OR_RETURN(bool written, writer->commit(manifest, threads));
class CommitDirectory {
 public:
  using File = CheckpointManifest::File;

  // Makes the temporary directory, which begin() of the other ranks expects. Called on rank 0,
  // which chose the nonce, before the other ranks receive it. Errors: write errors.
  static absl::Status make(FileSystem& files, const CommitOptions& options);
  // Begins to write. On rank 0 makes the temporary directory, if make() has not. Borrows `files`.
  // Errors: InvalidArgument for invalid options; FailedPrecondition on another rank that does not
  // see the directory of rank 0, so that the ranks' folders differ; write errors.
  static absl::StatusOr<std::unique_ptr<CommitDirectory>> begin(FileSystem& files,
                                                                CommitOptions options);
  // On rank 0 discards a checkpoint that was not committed.
  ~CommitDirectory();
  CommitDirectory(const CommitDirectory&) = delete;
  CommitDirectory& operator=(const CommitDirectory&) = delete;

  // Writes a safetensors file. The caller sets name and kind of `entry` and, for a table, the table
  // and hashes. The bytes do not depend on the number of threads.
  // Errors: any error of `fill`; Cancelled after abandon(); write errors; with keep_files
  // ResourceExhausted, before any write, if the disk lacks space for a file that cannot be kept.
  absl::Status write_tensors(const File& entry, const TensorFileLayout& layout,
                             const TensorFileLayout::Fill& fill, ThreadPool& threads);
  // Writes a small file. The caller sets name and kind of `entry`.
  absl::Status write(const File& entry, absl::string_view content);

  // Syncs and closes all files and writes the chunks file. Returns the entries of all files.
  // Errors: Cancelled after abandon(); write errors.
  absl::StatusOr<std::vector<File>> finish_files(ThreadPool& threads);

  // Commits the checkpoint, which is durable when commit() returns. Sets digest, version and world
  // size of `manifest`. Returns false if the same checkpoint already existed, valid to the last
  // byte, and !replaces_equal; then nothing has changed.
  // REQUIRES: rank 0; all ranks have finished their files, which `manifest` lists.
  // Errors: InvalidArgument for a manifest that breaks a rule; Aborted if another process has taken
  // the folder; write errors. Unless the very last sync failed, an error leaves any earlier
  // checkpoint of this step in place.
  absl::StatusOr<bool> commit(CheckpointManifest manifest, ThreadPool& threads);

  // Makes write_tensors() and finish_files(), under way or called later, end with Cancelled: within
  // the piece of a file that is being written or before the next file is synced. Thread-safe.
  void abandon() { abandoned_ = true; }

  // Removes the temporary directory, with the files of all ranks. Errors: Aborted if another
  // process, which cleans up, has taken the folder; errors of removing; the next clean-up removes
  // the rest.
  absl::Status discard();

  // The directory of the files until commit().
  const std::string& temporary() const { return temporary_; }
  // The directory of the files after commit().
  const std::string& path() const { return path_; }

 private:
  CommitDirectory(FileSystem& files, CommitOptions options);
  absl::StatusOr<WrittenFile> write_or_keep(const std::string& name, int64_t size_bytes,
                                            const KeptFiles::Fill& fill, ThreadPool& threads);
  absl::Status add(File entry, WrittenFile written);
  absl::Status check_abandoned() const;
  absl::Status write_manifest(absl::string_view text);
  absl::Status replace(bool exists);
  // Renames in the folder if it still belongs to this process.
  absl::Status rename(const std::string& from, const std::string& to);

  FileSystem& files_;
  const CommitOptions options_;
  const std::string temporary_, path_;
  std::unique_ptr<KeptFiles> kept_;  // null: every file is written
  std::vector<File> entries_;
  std::vector<WrittenFile> written_;
  bool done_ = false;  // committed or discarded
  std::atomic<bool> abandoned_ = false;
};

// Returns true if `path` is a checkpoint with the content of `content` (as equal_content()
// compares, ignoring files), valid to the last byte and durable.
bool is_saved(FileSystem& files, const std::string& path, const CheckpointManifest& content,
              ThreadPool& threads);

// Checks that every entry of `folder` with the name of a checkpoint is a directory. Errors:
// PermissionDenied naming another entry, whose step could not be saved; errors of listing.
absl::Status check_names(FileSystem& files, const std::string& folder);

// Checks the free space. Errors: ResourceExhausted, with both numbers, if the disk of `folder` has
// less than `bytes` free; read errors.
absl::Status check_free_space(FileSystem& files, const std::string& folder, int64_t bytes);

// Removes a checkpoint. First renames it, durably, so that its name never refers to a partial
// checkpoint. `token`: as CommitOptions::token. Errors: FailedPrecondition if the name is not a
// checkpoint's; Aborted if another process has taken the folder; write errors.
absl::Status remove_checkpoint(FileSystem& files, const std::string& path,
                               const std::string& token = "");

// Completes or removes the unfinished work of dead writers in a folder.
// REQUIRES: the caller holds the lock, so that nobody else writes to the folder. Returns one line
// per action, for people. `token`: as CommitOptions::token.
// Errors: Aborted if another process has taken the folder; read and write errors.
absl::StatusOr<std::vector<std::string>> clean_up(FileSystem& files, const std::string& folder,
                                                  const std::string& token = "");

}  // namespace millrace

#endif  // MILLRACE_CHECKPOINT_FOLDER_COMMIT_DIRECTORY_H_
