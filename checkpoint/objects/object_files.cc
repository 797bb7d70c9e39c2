#include "checkpoint/objects/object_files.h"

#include <algorithm>
#include <functional>
#include <limits>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "checkpoint/format/chunked_file.h"
#include "checkpoint/objects/object_lease.h"
#include "checkpoint/objects/ordered_upload.h"
#include "io/files/uri_file_system.h"

namespace millrace {
namespace {

using Kind = CheckpointName::Kind;

constexpr char kWriting[] = "writing";
constexpr int64_t kMostPointerBytes = 4096;

// The name of the prefix of a checkpoint's objects: step-00001000-NONCE.
std::string prefix_name(int64_t step, absl::string_view nonce) {
  return absl::StrCat(checkpoint_name(step), "-", nonce);
}

// Returns the step; nullopt: the name is not that of a prefix.
std::optional<int64_t> parse_prefix_name(const std::string& name) {
  const size_t dash = name.rfind('-');
  if (dash == std::string::npos || !is_nonce(name.substr(dash + 1))) return std::nullopt;
  const auto stem = parse_checkpoint_name(name.substr(0, dash));
  if (!stem.has_value() || stem->kind != Kind::kCheckpoint) return std::nullopt;
  return stem->step;
}

std::string nonce_of(const std::string& entry) { return entry.substr(entry.rfind('-') + 1); }

// A manifest, which is put when its directory gets the name of a checkpoint.
class HeldFile : public PositionedFile {
 public:
  explicit HeldFile(std::function<void(std::string)> hold) : hold_(std::move(hold)) {}
  absl::Status write_at(int64_t offset, absl::string_view bytes) override {
    content_.resize(std::max(content_.size(), offset + bytes.size()));
    content_.replace(offset, bytes.size(), bytes.data(), bytes.size());
    return absl::OkStatus();
  }
  absl::Status sync() override {
    hold_(content_);
    return absl::OkStatus();
  }
  absl::Status close() override { return absl::OkStatus(); }

 private:
  const std::function<void(std::string)> hold_;
  std::string content_;
};

absl::Status ignore_missing(const absl::Status& status) {
  return absl::IsNotFound(status) ? absl::OkStatus() : status;
}

}  // namespace

ObjectFiles& ObjectFiles::process() {
  static ObjectFiles* files = new ObjectFiles(UriFileSystem::process(), Clock::real());
  return *files;
}

void ObjectFiles::set_lease(absl::Duration period) {
  MutexLock lock(mutex_);
  lease_ = period;
}

std::optional<ObjectFiles::Place> ObjectFiles::place_of(const std::string& path) {
  if (!is_uri(path)) return std::nullopt;
  // A checkpoint has files, and no directories.
  for (const std::string& directory : {path, directory_of(path)}) {
    const std::string entry = base_name(directory);
    const auto name = parse_checkpoint_name(entry);
    if (!name.has_value()) continue;
    const bool is_file = directory.size() < path.size();
    return Place{directory_of(directory), entry, is_file ? base_name(path) : "", *name};
  }
  return std::nullopt;
}

absl::StatusOr<std::string> ObjectFiles::read_pointer(const std::string& folder) {
  {
    MutexLock lock(mutex_);
    const auto known = folders_.find(folder);
    if (known != folders_.end()) return known->second.pointer;
  }
  const auto text = read_regular_file(under_, join_path(folder, kPointerName), kMostPointerBytes);
  // A file of this name that is none of ours, such as one of data.
  const bool is_none = absl::IsNotFound(text.status()) || absl::IsDataLoss(text.status());
  return is_none ? std::string() : text;
}

// `entries`: of the folder. `only`: the step to find; default: all.
absl::StatusOr<std::map<int64_t, ObjectFiles::Step>> ObjectFiles::find_steps(
    const std::string& folder, const std::vector<DirectoryEntry>& entries,
    std::optional<int64_t> only) {
  std::vector<std::string> names;
  bool has_pointer = false;
  for (const DirectoryEntry& entry : entries) {
    has_pointer |= entry.name == kPointerName;
    if (entry.kind == FileKind::kDirectory && parse_prefix_name(entry.name).has_value()) {
      names.push_back(entry.name);
    }
  }
  std::string newest;
  if (has_pointer || !names.empty()) {
    ASSIGN_OR_RETURN(const std::string pointer, read_pointer(folder));
    newest = pointer.substr(0, pointer.find('\n'));
  }
  // A store may list a prefix some time after its first object was put.
  std::erase(names, newest);
  if (parse_prefix_name(newest).has_value()) names.push_back(newest);
  std::map<int64_t, Step> steps;
  for (const std::string& name : names) {
    const int64_t number = *parse_prefix_name(name);
    if (only.has_value() && number != *only) continue;
    const auto manifest = under_.info(join_path(join_path(folder, name), kManifestName));
    RETURN_IF_ERROR(ignore_missing(manifest.status()));
    Step& step = steps[number];
    (manifest.ok() ? step.whole : step.unfinished).push_back(name);
  }
  return steps;
}

// Returns the path in the store. Errors: NotFound.
absl::StatusOr<std::string> ObjectFiles::object_path(const Place& place) {
  const auto below = [&](const std::string& prefix) {
    const std::string directory = join_path(place.folder, prefix);
    return place.rest.empty() ? directory : join_path(directory, place.rest);
  };
  {
    MutexLock lock(mutex_);
    const auto renamed = renamed_.find(place.path());
    if (renamed != renamed_.end()) return below(renamed->second);
    const auto known = found_.find(place.path());
    const bool is_begin = place.rest.empty() || place.rest == kManifestName;
    if (known != found_.end() && !is_begin) return below(known->second);
  }
  if (place.name.kind != Kind::kCheckpoint) {
    return below(prefix_name(place.name.step, nonce_of(place.entry)));
  }
  absl::StatusOr<std::vector<DirectoryEntry>> entries = under_.list(place.folder);
  if (absl::IsFailedPrecondition(entries.status())) {
    return absl::NotFoundError(entries.status().message());
  }
  RETURN_IF_ERROR(entries.status());
  ASSIGN_OR_RETURN(const auto steps, find_steps(place.folder, *entries, place.name.step));
  const auto found = steps.find(place.name.step);
  const bool is_there = found != steps.end() && !found->second.whole.empty();
  const std::string prefix = is_there ? found->second.whole.back() : place.entry;
  MutexLock lock(mutex_);
  found_[place.path()] = prefix;
  return below(prefix);
}

absl::StatusOr<std::string> ObjectFiles::resolve(const std::string& path) {
  const std::optional<Place> place = place_of(path);
  return place.has_value() ? object_path(*place) : path;
}

absl::StatusOr<std::unique_ptr<ReadableFile>> ObjectFiles::open(const std::string& path) {
  ASSIGN_OR_RETURN(const std::string object, resolve(path));
  return under_.open(object);
}

absl::StatusOr<std::unique_ptr<WritableFile>> ObjectFiles::create(const std::string& path) {
  ASSIGN_OR_RETURN(const std::string object, resolve(path));
  return under_.create(object);
}

absl::StatusOr<std::unique_ptr<PositionedFile>> ObjectFiles::create_new(const std::string& path,
                                                                        int64_t size_bytes) {
  const std::optional<Place> place = place_of(path);
  if (!place.has_value()) return under_.create_new(path, size_bytes);
  if (place->rest == kManifestName && place->name.kind == Kind::kTemporary) {
    return std::make_unique<HeldFile>([this, directory = place->path()](std::string content) {
      MutexLock lock(mutex_);
      manifests_[directory] = std::move(content);
    });
  }
  ASSIGN_OR_RETURN(const std::string object, object_path(*place));
  ASSIGN_OR_RETURN(std::unique_ptr<WritableFile> file, under_.create(object));
  return std::make_unique<OrderedUpload>(under_, object, std::move(file), size_bytes);
}

absl::StatusOr<FileInfo> ObjectFiles::info(const std::string& path) {
  ASSIGN_OR_RETURN(const std::string object, resolve(path));
  return under_.info(object);
}

absl::StatusOr<FileInfo> ObjectFiles::link_info(const std::string& path) {
  ASSIGN_OR_RETURN(const std::string object, resolve(path));
  return under_.link_info(object);
}

absl::StatusOr<std::vector<DirectoryEntry>> ObjectFiles::list(const std::string& path) {
  ASSIGN_OR_RETURN(const std::string object, resolve(path));
  ASSIGN_OR_RETURN(const std::vector<DirectoryEntry> entries, under_.list(object));
  if (!is_uri(path) || object != path) return entries;
  ASSIGN_OR_RETURN(const auto steps, find_steps(path, entries, std::nullopt));
  std::vector<DirectoryEntry> listed;
  for (const DirectoryEntry& entry : entries) {
    const auto name = parse_checkpoint_name(entry.name);
    const auto step = name.has_value() ? steps.find(name->step) : steps.end();
    const bool is_hidden = step != steps.end() && !step->second.whole.empty();
    if (!is_hidden && !parse_prefix_name(entry.name).has_value()) listed.push_back(entry);
  }
  for (const auto& [number, step] : steps) {
    for (const std::string& prefix : step.whole) {
      listed.push_back({prefix == step.whole.back()
                            ? checkpoint_name(number)
                            : checkpoint_name(number, Kind::kOld, nonce_of(prefix)),
                        FileKind::kDirectory});
    }
    for (const std::string& prefix : step.unfinished) {
      listed.push_back(
          {checkpoint_name(number, Kind::kTemporary, nonce_of(prefix)), FileKind::kDirectory});
    }
  }
  std::sort(listed.begin(), listed.end(),
            [](const DirectoryEntry& a, const DirectoryEntry& b) { return a.name < b.name; });
  return listed;
}

absl::Status ObjectFiles::create_directories(const std::string& path) {
  if (!is_uri(path)) return under_.create_directories(path);
  const std::optional<Place> place = place_of(path);
  if (!place.has_value()) return absl::OkStatus();  // a name before the last slash is no object
  ASSIGN_OR_RETURN(const std::string object, object_path(*place));
  return put_object(under_, join_path(object, kWriting), "");
}

absl::Status ObjectFiles::rename(const std::string& from, const std::string& to) {
  const std::optional<Place> old_place = place_of(from), new_place = place_of(to);
  if (!old_place.has_value() || !new_place.has_value()) return under_.rename(from, to);
  if (new_place->name.kind == Kind::kRemoved) return remove_manifest(*old_place, *new_place);
  if (old_place->name.kind == Kind::kTemporary) return commit(*old_place, *new_place);
  ASSIGN_OR_RETURN(const std::string object, object_path(*old_place));
  MutexLock lock(mutex_);
  renamed_.erase(old_place->path());
  if (new_place->name.kind == Kind::kOld) renamed_[new_place->path()] = base_name(object);
  return absl::OkStatus();
}

absl::Status ObjectFiles::commit(const Place& from, const Place& to) {
  std::string manifest;
  {
    MutexLock lock(mutex_);
    manifest = manifests_[from.path()];
  }
  const std::string pointer_path = join_path(to.folder, kPointerName);
  const auto there = read_regular_file(under_, pointer_path, kMostPointerBytes);
  RETURN_IF_ERROR(ignore_missing(there.status()));
  {
    MutexLock lock(mutex_);
    const auto known = folders_.find(to.folder);
    const std::string pointer = there.value_or("");
    // An answer that got lost may hide that the next pointer was put.
    if (known != folders_.end() && pointer != known->second.pointer &&
        pointer != known->second.next_pointer) {
      return absl::AbortedError(absl::StrCat(
          to.folder, " was taken by another run, which has saved ",
          pointer.substr(0, pointer.find('\n')), "; this run changes nothing there any more; let ",
          "the other run continue, or stop it and start this one again"));
    }
  }
  ASSIGN_OR_RETURN(const std::string prefix, object_path(from));
  RETURN_IF_ERROR(ignore_missing(under_.remove(join_path(prefix, kWriting))));
  const std::string manifest_path = join_path(prefix, kManifestName);
  const absl::Status put = put_object(under_, manifest_path, manifest);
  if (!put.ok()) {
    // It may be there all the same, and the caller removes what it names.
    under_.remove(manifest_path).IgnoreError();
    return put;
  }
  MutexLock lock(mutex_);
  manifests_.erase(from.path());
  folders_[to.folder].next_pointer = absl::StrCat(base_name(prefix), "\n");
  return absl::OkStatus();
}

absl::Status ObjectFiles::remove_manifest(const Place& from, const Place& to) {
  ASSIGN_OR_RETURN(const std::string prefix, object_path(from));
  RETURN_IF_ERROR(ignore_missing(under_.remove(join_path(prefix, kManifestName))));
  MutexLock lock(mutex_);
  found_.erase(from.path());
  renamed_.erase(from.path());
  renamed_[to.path()] = base_name(prefix);
  return absl::OkStatus();
}

absl::Status ObjectFiles::link(const std::string& from, const std::string& to) {
  if (!is_uri(from) && !is_uri(to)) return ForwardingFileSystem::link(from, to);
  return absl::UnavailableError(absl::StrCat("cannot link ", to, ": a store has no hard links"));
}

absl::Status ObjectFiles::remove(const std::string& path) {
  const std::optional<Place> place = place_of(path);
  if (!place.has_value()) return under_.remove(path);
  ASSIGN_OR_RETURN(const std::string object, object_path(*place));
  if (!place->rest.empty()) return under_.remove(object);
  {
    MutexLock lock(mutex_);
    renamed_.erase(place->path());
    manifests_.erase(place->path());
  }
  return ignore_missing(under_.remove(object));  // the last object was the directory's end
}

absl::Status ObjectFiles::sync_directory(const std::string& path) {
  if (!is_uri(path)) return under_.sync_directory(path);
  std::string pointer;
  {
    MutexLock lock(mutex_);
    const auto folder = folders_.find(path);
    if (folder == folders_.end() || folder->second.next_pointer.empty()) return absl::OkStatus();
    pointer = folder->second.next_pointer;
  }
  RETURN_IF_ERROR(put_object(under_, join_path(path, kPointerName), pointer));
  MutexLock lock(mutex_);
  folders_[path] = {pointer, ""};
  return absl::OkStatus();
}

absl::StatusOr<int64_t> ObjectFiles::free_bytes(const std::string& path) {
  return is_uri(path) ? std::numeric_limits<int64_t>::max() : under_.free_bytes(path);
}

absl::StatusOr<std::unique_ptr<FileLock>> ObjectFiles::lock(const std::string& path) {
  if (!is_uri(path)) return under_.lock(path);
  absl::Duration period;
  {
    MutexLock lock(mutex_);
    period = lease_;
    folders_.erase(directory_of(path));
  }
  ASSIGN_OR_RETURN(std::unique_ptr<FileLock> lease,
                   ObjectLease::acquire(under_, path, period, clock_));
  if (lease == nullptr) return lease;
  ASSIGN_OR_RETURN(const std::string pointer, read_pointer(directory_of(path)));
  MutexLock lock(mutex_);
  folders_[directory_of(path)].pointer = pointer;
  return lease;
}

}  // namespace millrace
