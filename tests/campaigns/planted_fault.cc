#include "tests/campaigns/planted_fault.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <functional>
#include <limits>
#include <optional>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/forwarding_file_system.h"
#include "base/hash.h"
#include "base/status_macros.h"
#include "checkpoint/format/checkpoint_names.h"
#include "checkpoint/format/chunk_digests.h"
#include "checkpoint/format/manifest.h"

namespace millrace {
namespace {

using Kind = CheckpointName::Kind;

bool is_temporary(const std::string& path) { return absl::StrContains(path, ".tmp-"); }
bool is_manifest(const std::string& path) { return base_name(path) == kManifestName; }

// Returns true for a folder of checkpoints, which the campaigns name "checkpoints".
bool is_folder(const std::string& path) { return base_name(path) == "checkpoints"; }

// Returns the kind of a directory in the folder; none for all other paths.
std::optional<Kind> kind_of(const std::string& path) {
  const auto name = parse_checkpoint_name(base_name(path));
  return name ? std::optional<Kind>(name->kind) : std::nullopt;
}

// A file some of whose functions are replaced.
class PatchedFile : public PositionedFile {
 public:
  using File = std::unique_ptr<PositionedFile>;
  struct Patch {
    std::function<absl::Status(File&, int64_t, absl::string_view)> write = {};
    std::function<absl::Status(File&)> sync = {};
    std::function<absl::Status(File&)> close = {};
  };
  PatchedFile(File under, Patch patch) : under_(std::move(under)), patch_(std::move(patch)) {}

  absl::Status write_at(int64_t offset, absl::string_view bytes) override {
    return patch_.write ? patch_.write(under_, offset, bytes) : under_->write_at(offset, bytes);
  }
  absl::Status sync() override { return patch_.sync ? patch_.sync(under_) : under_->sync(); }
  absl::Status close() override { return patch_.close ? patch_.close(under_) : under_->close(); }

 private:
  File under_;
  const Patch patch_;
};

class NoLock : public FileLock {
 public:
  absl::Status write(absl::string_view) override { return absl::OkStatus(); }
};

// A file whose content differs from the content on disk.
class TextFile : public ReadableFile {
 public:
  TextFile(std::string path, std::string text) : path_(std::move(path)), text_(std::move(text)) {}
  const std::string& path() const override { return path_; }
  int64_t size_bytes() const override { return text_.size(); }
  absl::StatusOr<int64_t> read_at(int64_t offset, int64_t count, void* buffer) override {
    count = std::clamp<int64_t>(static_cast<int64_t>(text_.size()) - offset, 0, count);
    if (count > 0) std::memcpy(buffer, text_.data() + offset, count);
    return count;
  }

 private:
  const std::string path_, text_;
};

class PlantedFileSystem : public ForwardingFileSystem {
 public:
  PlantedFileSystem(PlantedFault fault, FileSystem& under)
      : ForwardingFileSystem(under), fault_(fault) {}

  absl::StatusOr<std::unique_ptr<ReadableFile>> open(const std::string& path) override;
  absl::StatusOr<std::unique_ptr<PositionedFile>> create_new(const std::string& path,
                                                             int64_t size_bytes) override;
  absl::StatusOr<std::vector<DirectoryEntry>> list(const std::string& path) override;
  absl::Status create_directories(const std::string& path) override;
  absl::Status rename(const std::string& from, const std::string& to) override;
  absl::Status remove(const std::string& path) override;
  absl::Status sync_directory(const std::string& path) override;
  absl::StatusOr<int64_t> free_bytes(const std::string& path) override;
  absl::StatusOr<std::unique_ptr<FileLock>> lock(const std::string& path) override;

 private:
  PatchedFile::Patch patch(const std::string& path);
  absl::StatusOr<std::string> forged_chunks(const std::string& directory, const std::string& name);
  absl::StatusOr<std::string> forged_manifest(const std::string& directory);

  const PlantedFault fault_;
  std::unique_ptr<PositionedFile> unsynced_;                  // kManifestSyncAfterRename
  std::optional<std::pair<std::string, std::string>> later_;  // kAcknowledgedBeforeRename
};

PatchedFile::Patch PlantedFileSystem::patch(const std::string& path) {
  using File = PatchedFile::File;
  auto nothing = [](File&) { return absl::OkStatus(); };
  PatchedFile::Patch patch;
  switch (fault_) {
    case PlantedFault::kNoFileSync:
      if (!is_manifest(path)) patch.sync = nothing;
      break;
    case PlantedFault::kNoManifestSync:
      if (is_manifest(path)) patch.sync = nothing;
      break;
    case PlantedFault::kManifestSyncAfterRename:
      if (!is_manifest(path)) break;
      patch.sync = nothing;
      patch.close = [this](File& file) {
        unsynced_ = std::move(file);
        return absl::OkStatus();
      };
      break;
    case PlantedFault::kCloseErrorIgnored:
      patch.close = [](File& file) {
        file->close().IgnoreError();
        return absl::OkStatus();
      };
      break;
    case PlantedFault::kWriteErrorIgnored:
      patch.write = [](File& file, int64_t offset, absl::string_view bytes) {
        file->write_at(offset, bytes).IgnoreError();
        return absl::OkStatus();
      };
      break;
    case PlantedFault::kShortWriteIgnored:
      patch.write = [path](File&, int64_t offset, absl::string_view bytes) {
        const int fd = ::open(path.c_str(), O_WRONLY | O_CLOEXEC);
        const bool written = fd >= 0 && ::pwrite(fd, bytes.data(), bytes.size(), offset) >= 0;
        if (fd >= 0) ::close(fd);
        return written ? absl::OkStatus() : absl::UnavailableError("cannot write " + path);
      };
      break;
    case PlantedFault::kSecondSync:
      patch.sync = [](File& file) { return file->sync().ok() ? absl::OkStatus() : file->sync(); };
      break;
    case PlantedFault::kPiecesSwapped:
      if (!absl::StartsWith(base_name(path), "table-")) break;
      patch.write = [](File& file, int64_t offset, absl::string_view bytes) {
        const size_t half = bytes.size() / 2;
        return file->write_at(offset, absl::StrCat(bytes.substr(half), bytes.substr(0, half)));
      };
      break;
    default: break;
  }
  return patch;
}

absl::StatusOr<std::unique_ptr<PositionedFile>> PlantedFileSystem::create_new(
    const std::string& path, int64_t size_bytes) {
  ASSIGN_OR_RETURN(std::unique_ptr<PositionedFile> file, under_.create_new(path, size_bytes));
  return std::make_unique<PatchedFile>(std::move(file), patch(path));
}

// Returns a chunks file with the digests of the actual bytes of every file, so that no damage
// shows.
absl::StatusOr<std::string> PlantedFileSystem::forged_chunks(const std::string& directory,
                                                             const std::string& name) {
  ASSIGN_OR_RETURN(const std::string text, read_file(under_, join_path(directory, name)));
  ASSIGN_OR_RETURN(std::vector<FileChunks> chunks, parse_chunks(text));
  for (FileChunks& file : chunks) {
    ASSIGN_OR_RETURN(const std::string content, read_file(under_, join_path(directory, file.name)));
    file = chunks_of(file.name, content);
  }
  return format_chunks(std::move(chunks));
}

absl::StatusOr<std::string> PlantedFileSystem::forged_manifest(const std::string& directory) {
  ASSIGN_OR_RETURN(const std::string text, read_file(under_, join_path(directory, kManifestName)));
  ASSIGN_OR_RETURN(CheckpointManifest manifest, parse_manifest(text));
  for (CheckpointManifest::File& file : *manifest.mutable_files()) {
    absl::StatusOr<std::string> content =
        file.kind() == CheckpointManifest::CHUNKS_FILE
            ? forged_chunks(directory, file.name())
            : read_file(under_, join_path(directory, file.name()));
    RETURN_IF_ERROR(content.status());
    file.set_digest(format_digest(file_digest(chunks_of(file.name(), *content).digests)));
  }
  return format_manifest(std::move(manifest));
}

absl::StatusOr<std::unique_ptr<ReadableFile>> PlantedFileSystem::open(const std::string& path) {
  absl::StatusOr<std::string> text = absl::UnknownError("as it is");
  if (fault_ == PlantedFault::kNoManifestDigest && is_manifest(path)) {
    constexpr size_t kPlace = 14, kDigits = 32;  // docs/checkpoint_format.md
    text = read_file(under_, path);
    if (text.ok() && text->size() >= kPlace + kDigits) {
      text->replace(kPlace, kDigits, kDigits, '0');
      text->replace(kPlace, kDigits, format_digest(xxh3_128(*text)));
    }
  } else if (fault_ == PlantedFault::kNoChunkDigests && is_manifest(path)) {
    text = forged_manifest(directory_of(path));
  } else if (fault_ == PlantedFault::kNoChunkDigests && absl::EndsWith(path, ".xxh")) {
    text = forged_chunks(directory_of(path), base_name(path));
  }
  if (!text.ok()) return under_.open(path);
  return std::make_unique<TextFile>(path, *std::move(text));
}

absl::StatusOr<std::vector<DirectoryEntry>> PlantedFileSystem::list(const std::string& path) {
  ASSIGN_OR_RETURN(std::vector<DirectoryEntry> entries, under_.list(path));
  if (fault_ == PlantedFault::kNoCleanUp) {
    entries.erase(std::remove_if(entries.begin(), entries.end(),
                                 [](const DirectoryEntry& entry) {
                                   const auto kind = kind_of(entry.name);
                                   return kind && *kind != Kind::kCheckpoint;
                                 }),
                  entries.end());
  }
  return entries;
}

absl::Status PlantedFileSystem::create_directories(const std::string& path) {
  if (later_) {
    RETURN_IF_ERROR(under_.rename(later_->first, later_->second));
    RETURN_IF_ERROR(under_.sync_directory(directory_of(later_->second)));
    later_.reset();
  }
  return under_.create_directories(path);
}

absl::Status PlantedFileSystem::rename(const std::string& from, const std::string& to) {
  if (fault_ == PlantedFault::kAcknowledgedBeforeRename && is_temporary(from)) {
    later_ = {from, to};
    return absl::OkStatus();
  }
  if (fault_ == PlantedFault::kOldRemovedFirst && kind_of(to) == Kind::kOld) {
    return remove_recursively(under_, from);
  }
  if (fault_ == PlantedFault::kRetentionTakesNewest && kind_of(from) == Kind::kCheckpoint &&
      kind_of(to) == Kind::kRemoved) {
    ASSIGN_OR_RETURN(const std::vector<DirectoryEntry> entries, under_.list(directory_of(from)));
    std::string newest = base_name(from);  // the order of names is the order of steps
    for (const DirectoryEntry& entry : entries) {
      if (kind_of(entry.name) == Kind::kCheckpoint) newest = std::max(newest, entry.name);
    }
    return under_.rename(join_path(directory_of(from), newest), to);
  }
  return under_.rename(from, to);
}

absl::Status PlantedFileSystem::remove(const std::string& path) {
  if (fault_ == PlantedFault::kFullDiskLeavesFiles && is_temporary(path)) return absl::OkStatus();
  return under_.remove(path);
}

absl::Status PlantedFileSystem::sync_directory(const std::string& path) {
  switch (fault_) {
    case PlantedFault::kNoTemporarySync:
      if (is_temporary(path)) return absl::OkStatus();
      break;
    case PlantedFault::kNoFolderSync:
      if (is_folder(path)) return absl::OkStatus();
      break;
    case PlantedFault::kNoParentSync:
      if (!is_folder(path) && !is_temporary(path)) return absl::OkStatus();
      break;
    default: break;
  }
  RETURN_IF_ERROR(under_.sync_directory(path));
  if (unsynced_ == nullptr || !is_folder(path)) return absl::OkStatus();
  const std::unique_ptr<PositionedFile> manifest = std::move(unsynced_);
  RETURN_IF_ERROR(manifest->sync());
  return manifest->close();
}

absl::StatusOr<int64_t> PlantedFileSystem::free_bytes(const std::string& path) {
  if (fault_ == PlantedFault::kNoRoomCheck) return std::numeric_limits<int64_t>::max();
  return under_.free_bytes(path);
}

absl::StatusOr<std::unique_ptr<FileLock>> PlantedFileSystem::lock(const std::string& path) {
  if (fault_ == PlantedFault::kLockForEverybody) return std::make_unique<NoLock>();
  if (fault_ == PlantedFault::kStaleLockBlocks && under_.info(path).ok()) return nullptr;
  return under_.lock(path);
}

}  // namespace

const std::vector<PlantedFaultEntry>& planted_faults() {
  static const auto* entries = new std::vector<PlantedFaultEntry>{
      {PlantedFault::kNoFileSync, "files are not synced", "crash_states"},
      {PlantedFault::kNoManifestSync, "the manifest is not synced", "crash_states"},
      {PlantedFault::kNoTemporarySync, "the temporary directory is not synced", "crash_states"},
      {PlantedFault::kNoFolderSync, "the folder is not synced after the renaming", "crash_states"},
      {PlantedFault::kNoParentSync, "the directory that a new folder is in is not synced",
       "crash_states"},
      {PlantedFault::kManifestSyncAfterRename, "the manifest is synced after the renaming",
       "crash_states"},
      {PlantedFault::kAcknowledgedBeforeRename, "acknowledged before the renaming", "crash_states"},
      {PlantedFault::kOldRemovedFirst,
       "a checkpoint that is replaced is removed before the new one has its name", "crash_states"},
      {PlantedFault::kPiecesSwapped, "the halves of a piece are written in the wrong order",
       "crash_states"},
      {PlantedFault::kRetentionTakesNewest, "retention removes the newest", "crash_states"},
      {PlantedFault::kCloseErrorIgnored, "a failed close is ignored", "syscalls", "close"},
      {PlantedFault::kWriteErrorIgnored, "a failed write is ignored", "syscalls", "pwrite64"},
      {PlantedFault::kShortWriteIgnored, "a short write is taken for a whole one", "syscalls",
       "pwrite64"},
      {PlantedFault::kSecondSync, "a failed sync is tried again", "syscalls", "fsync"},
      {PlantedFault::kNoManifestDigest, "the manifest's digest is not compared", "flips"},
      {PlantedFault::kNoChunkDigests, "the digests of files and chunks are not compared", "flips"},
      {PlantedFault::kCursorOneBatchOff, "the cursor is one batch off after a resume", "kills"},
      {PlantedFault::kLockForEverybody, "the lock is given to everybody", "kills"},
      {PlantedFault::kStaleLockBlocks, "the lock of a dead writer blocks", "kills"},
      {PlantedFault::kNoCleanUp, "what dead writers left stays", "kills"},
      {PlantedFault::kNoRoomCheck, "nobody looks whether there is room", "disk"},
      {PlantedFault::kFullDiskLeavesFiles, "a save that failed leaves its files", "disk"},
  };
  return *entries;
}

std::unique_ptr<FileSystem> plant(PlantedFault fault, FileSystem& under) {
  return std::make_unique<PlantedFileSystem>(fault, under);
}

}  // namespace millrace
