#include "checkpoint/folder/commit_directory.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/catch_exceptions.h"
#include "base/file_system.h"
#include "base/hash.h"
#include "base/log.h"
#include "base/status_macros.h"
#include "checkpoint/folder/checkpoint_reader.h"
#include "checkpoint/folder/directory_lock.h"
#include "checkpoint/format/checkpoint_names.h"
#include "checkpoint/format/manifest.h"

namespace millrace {
namespace {

using Kind = CheckpointName::Kind;

std::string path_of(const CommitOptions& options, Kind kind) {
  return join_path(options.folder, kind == Kind::kCheckpoint
                                       ? checkpoint_name(options.step)
                                       : checkpoint_name(options.step, kind, options.nonce));
}

// Syncs and closes a file. Closes the file even if the sync fails, and never syncs again. A kept
// file is null and on disk already.
absl::Status finish(std::unique_ptr<PositionedFile> file) {
  if (file == nullptr) return absl::OkStatus();
  const absl::Status synced = file->sync();
  const absl::Status closed = file->close();
  return synced.ok() ? closed : synced;
}

// Moves damaged replaced checkpoints to the end: of two replaced checkpoints of a step, one may
// have been partly removed before a crash restored its name.
void put_damaged_last(FileSystem& files, const std::string& folder,
                      std::vector<DirectoryEntry>* entries) {
  std::stable_partition(entries->begin(), entries->end(), [&](const DirectoryEntry& entry) {
    const auto name = parse_checkpoint_name(entry.name);
    return !name || name->kind != Kind::kOld ||
           CheckpointReader::open(files, join_path(folder, entry.name)).ok();
  });
}

// Removes a directory that readers ignore. A failure costs only disk space.
void remove_leftover(FileSystem& files, const std::string& path) {
  const absl::Status status = remove_recursively(files, path);
  if (!status.ok()) MILLRACE_LOG(WARNING) << "left for the next clean-up: " << status;
}

}  // namespace

CommitDirectory::CommitDirectory(FileSystem& files, CommitOptions options)
    : files_(files),
      options_(std::move(options)),
      temporary_(path_of(options_, Kind::kTemporary)),
      path_(path_of(options_, Kind::kCheckpoint)) {}

CommitDirectory::~CommitDirectory() {
  if (!done_ && options_.rank == 0) discard().IgnoreError();
}

absl::Status CommitDirectory::make(FileSystem& files, const CommitOptions& options) {
  return files.create_directories(path_of(options, Kind::kTemporary));
}

absl::StatusOr<std::unique_ptr<CommitDirectory>> CommitDirectory::begin(FileSystem& files,
                                                                        CommitOptions options) {
  if (options.step < 0 || !is_nonce(options.nonce) || options.rank < 0 ||
      options.rank >= options.world_size || options.world_size > kMaxNumberedFiles) {
    return absl::InvalidArgumentError(absl::StrCat("cannot save step ", options.step, " as rank ",
                                                   options.rank, " of ", options.world_size,
                                                   " with nonce \"", options.nonce, "\""));
  }
  std::unique_ptr<CommitDirectory> directory(new CommitDirectory(files, std::move(options)));
  if (directory->options_.rank == 0) {
    RETURN_IF_ERROR(make(files, directory->options_));
  } else if (const auto found = files.info(directory->temporary_); !found.ok()) {
    if (!absl::IsNotFound(found.status())) return found.status();
    return absl::FailedPreconditionError(absl::StrCat(
        "rank 0 has made ", directory->temporary_, ", which rank ", directory->options_.rank,
        " does not see; all ranks need the same folder: put output_dir on a disk that "
        "all machines share"));
  }
  if (directory->options_.keep_files) {
    absl::StatusOr<std::unique_ptr<KeptFiles>> kept = KeptFiles::open(files, directory->path_);
    if (kept.ok()) directory->kept_ = *std::move(kept);  // else all files are written
  }
  return directory;
}

absl::Status CommitDirectory::write_tensors(const File& entry, const TensorFileLayout& layout,
                                            const TensorFileLayout::Fill& fill,
                                            ThreadPool& threads) {
  RETURN_IF_ERROR(check_abandoned());
  const auto fill_bytes = [&](int64_t offset, absl::Span<char> bytes) -> absl::Status {
    RETURN_IF_ERROR(check_abandoned());
    return layout.fill(offset, bytes, fill);
  };
  ASSIGN_OR_RETURN(WrittenFile written,
                   write_or_keep(entry.name(), layout.size_bytes(), fill_bytes, threads));
  File complete = entry;
  complete.clear_tensors();
  for (const TensorInfo& info : layout.tensors()) {
    CheckpointManifest::Tensor* tensor = complete.add_tensors();
    tensor->set_name(info.name);
    tensor->set_dtype(std::string(tensor_type_name(info.type)));
    for (const int64_t dimension : info.shape) tensor->add_shape(dimension);
    tensor->set_offset(layout.data_begin() + info.begin);
  }
  return add(std::move(complete), std::move(written));
}

absl::StatusOr<WrittenFile> CommitDirectory::write_or_keep(const std::string& name,
                                                           int64_t size_bytes,
                                                           const KeptFiles::Fill& fill,
                                                           ThreadPool& threads) {
  const std::string path = join_path(temporary_, name);
  if (options_.keep_files) {
    std::optional<FileChunks> chunks;
    if (kept_ != nullptr) chunks = kept_->match(name, size_bytes, fill, threads);
    // On a disk without hard links the file is copied, if the space suffices.
    if (chunks.has_value() && link_file(files_, join_path(path_, name), path).ok()) {
      return WrittenFile{*std::move(chunks), nullptr};
    }
    RETURN_IF_ERROR(check_free_space(files_, options_.folder, size_bytes));
  }
  return write_chunks(files_, path, size_bytes, fill, threads);
}

absl::Status CommitDirectory::write(const File& entry, absl::string_view content) {
  WrittenFile written;
  written.chunks = chunks_of(entry.name(), content);
  ASSIGN_OR_RETURN(written.file,
                   files_.create_new(join_path(temporary_, entry.name()), content.size()));
  RETURN_IF_ERROR(written.file->write_at(0, content));
  return add(entry, std::move(written));
}

absl::Status CommitDirectory::check_abandoned() const {
  return abandoned_ ? absl::CancelledError(absl::StrCat(path_, " was abandoned"))
                    : absl::OkStatus();
}

absl::Status CommitDirectory::add(File entry, WrittenFile written) {
  entry.set_rank(options_.rank);
  entry.set_size(written.chunks.size_bytes);
  entry.set_digest(format_digest(file_digest(written.chunks.digests)));
  entries_.push_back(std::move(entry));
  written_.push_back(std::move(written));
  return absl::OkStatus();
}

absl::StatusOr<std::vector<CheckpointManifest::File>> CommitDirectory::finish_files(
    ThreadPool& threads) {
  std::vector<absl::Status> statuses(written_.size());
  threads.parallel_for(written_.size(), [&](int64_t i) {
    statuses[i] = catch_exceptions([&]() -> absl::Status {
      RETURN_IF_ERROR(check_abandoned());
      return finish(std::move(written_[i].file));
    });
  });
  for (const absl::Status& status : statuses) RETURN_IF_ERROR(status);
  std::vector<FileChunks> chunks;
  for (WrittenFile& written : written_) chunks.push_back(std::move(written.chunks));
  written_.clear();
  File entry;
  entry.set_name(chunks_file_name(options_.rank, options_.world_size));
  entry.set_kind(CheckpointManifest::CHUNKS_FILE);
  RETURN_IF_ERROR(write(entry, format_chunks(std::move(chunks))));
  RETURN_IF_ERROR(finish(std::move(written_[0].file)));
  written_.clear();
  return entries_;
}

absl::StatusOr<bool> CommitDirectory::commit(CheckpointManifest manifest, ThreadPool& threads) {
  manifest.set_world_size(options_.world_size);
  if (manifest.progress().step() != options_.step) {
    return absl::InvalidArgumentError(
        absl::StrCat("a manifest of step ", manifest.progress().step(), " for ", path_));
  }
  ASSIGN_OR_RETURN(const std::string text, format_manifest(manifest), path_);
  const absl::StatusOr<FileInfo> existing = files_.link_info(path_);
  if (!existing.ok() && !absl::IsNotFound(existing.status())) return existing.status();
  if (existing.ok() && existing->kind != FileKind::kDirectory) {
    return absl::PermissionDeniedError(
        absl::StrCat("cannot save ", path_, ": something else has this name"));
  }
  if (existing.ok() && !options_.replaces_equal && is_saved(files_, path_, manifest, threads)) {
    discard().IgnoreError();
    return false;
  }
  RETURN_IF_ERROR(write_manifest(text));
  RETURN_IF_ERROR(files_.sync_directory(temporary_));
  RETURN_IF_ERROR(replace(existing.ok()));
  return true;
}

absl::Status CommitDirectory::write_manifest(absl::string_view text) {
  ASSIGN_OR_RETURN(std::unique_ptr<PositionedFile> file,
                   files_.create_new(join_path(temporary_, kManifestName), text.size()));
  RETURN_IF_ERROR(file->write_at(0, text));
  return finish(std::move(file));
}

absl::Status CommitDirectory::rename(const std::string& from, const std::string& to) {
  RETURN_IF_ERROR(check_owner(files_, options_.folder, options_.token));
  return files_.rename(from, to);
}

absl::Status CommitDirectory::replace(bool exists) {
  const std::string old = path_of(options_, Kind::kOld);
  if (exists) RETURN_IF_ERROR(rename(path_, old));
  const absl::Status renamed = rename(temporary_, path_);
  if (!renamed.ok()) {
    if (exists) rename(old, path_).IgnoreError();
    return renamed;
  }
  done_ = true;
  RETURN_IF_ERROR(files_.sync_directory(options_.folder));
  if (!exists) return absl::OkStatus();
  const std::string removed = path_of(options_, Kind::kRemoved);
  const absl::Status aside = rename(old, removed);
  if (aside.ok()) {
    remove_leftover(files_, removed);
  } else {
    MILLRACE_LOG(WARNING) << "left for the next clean-up: " << aside;
  }
  return absl::OkStatus();
}

absl::Status CommitDirectory::discard() {
  done_ = true;
  written_.clear();
  RETURN_IF_ERROR(check_owner(files_, options_.folder, options_.token));
  return remove_recursively(files_, temporary_);
}

bool is_saved(FileSystem& files, const std::string& path, const CheckpointManifest& content,
              ThreadPool& threads) {
  const auto reader = CheckpointReader::open(files, path);
  if (!reader.ok() || !equal_content((*reader)->manifest(), content)) return false;
  // The writer may have failed, or died, before the name was on disk.
  return (*reader)->verify(threads).ok() && files.sync_directory(directory_of(path)).ok();
}

absl::Status check_names(FileSystem& files, const std::string& folder) {
  ASSIGN_OR_RETURN(const std::vector<DirectoryEntry> entries, files.list(folder));
  for (const DirectoryEntry& entry : entries) {
    const auto name = parse_checkpoint_name(entry.name);
    const bool of_checkpoint = name.has_value() && name->kind == Kind::kCheckpoint;
    if (!of_checkpoint || entry.kind == FileKind::kDirectory) continue;
    return absl::PermissionDeniedError(
        absl::StrCat(join_path(folder, entry.name),
                     " has the name of a checkpoint but is no directory: no checkpoint could be "
                     "saved in its place; move it away or choose another output_dir"));
  }
  return absl::OkStatus();
}

absl::Status check_free_space(FileSystem& files, const std::string& folder, int64_t bytes) {
  ASSIGN_OR_RETURN(const int64_t free, files.free_bytes(folder));
  if (bytes <= free) return absl::OkStatus();
  return absl::ResourceExhaustedError(absl::StrCat(
      "the checkpoint takes ", bytes, " bytes; ", folder, " has room for ", free,
      "; make room, keep fewer (run.checkpoint.keep_last, full_last) or choose another "
      "disk"));
}

absl::Status remove_checkpoint(FileSystem& files, const std::string& path,
                               const std::string& token) {
  const auto name = parse_checkpoint_name(base_name(path));
  if (!name || name->kind == Kind::kTemporary) {
    return absl::FailedPreconditionError(absl::StrCat(path, " is not named as a checkpoint"));
  }
  const std::string folder = directory_of(path);
  std::string removed = path;
  RETURN_IF_ERROR(check_owner(files, folder, token));
  if (name->kind != Kind::kRemoved) {
    removed = join_path(folder, checkpoint_name(name->step, Kind::kRemoved, new_nonce()));
    RETURN_IF_ERROR(files.rename(path, removed));
    RETURN_IF_ERROR(files.sync_directory(folder));
  }
  return remove_recursively(files, removed);
}

absl::StatusOr<std::vector<std::string>> clean_up(FileSystem& files, const std::string& folder,
                                                  const std::string& token) {
  std::vector<std::string> done;
  ASSIGN_OR_RETURN(std::vector<DirectoryEntry> entries, files.list(folder));
  put_damaged_last(files, folder, &entries);
  for (const DirectoryEntry& entry : entries) {
    const auto name = parse_checkpoint_name(entry.name);
    const std::string path = join_path(folder, entry.name);
    if (!name || name->kind == Kind::kCheckpoint) continue;
    RETURN_IF_ERROR(check_owner(files, folder, token));
    if (name->kind == Kind::kOld) {
      const std::string current = join_path(folder, checkpoint_name(name->step));
      const absl::StatusOr<FileInfo> info = files.link_info(current);
      if (!info.ok() && !absl::IsNotFound(info.status())) return info.status();
      if (!info.ok()) {
        RETURN_IF_ERROR(files.rename(path, current));
        RETURN_IF_ERROR(files.sync_directory(folder));
        done.push_back(absl::StrCat("gave ", path, " its name back"));
        continue;
      }
      // The newer checkpoint may be damaged, and this checkpoint the only one left.
      if (!CheckpointReader::open(files, current).ok()) continue;
      RETURN_IF_ERROR(remove_checkpoint(files, path, token));
    } else {
      RETURN_IF_ERROR(remove_recursively(files, path));
    }
    done.push_back(absl::StrCat("removed ", path));
  }
  return done;
}

}  // namespace millrace
