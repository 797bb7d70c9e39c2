#include "base/memory_file_system_testing.h"

#include <fnmatch.h>

#include <algorithm>
#include <cstring>
#include <limits>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "base/hash.h"
#include "base/status_macros.h"

namespace millrace {

// Shared by its directory and by the open files.
struct MemoryFileSystem::Node {
  bool is_directory = false;
  bool locked = false;
  bool was_locked = false;
  int64_t names = 1;  // of a file
  std::string content;
  std::map<std::string, std::shared_ptr<Node>> entries;
};

namespace {

using Node = MemoryFileSystem::Node;

// Writes a PositionedFile from its beginning.
class SequentialFile : public WritableFile {
 public:
  explicit SequentialFile(std::unique_ptr<PositionedFile> file) : file_(std::move(file)) {}

  absl::Status append(absl::string_view bytes) override {
    RETURN_IF_ERROR(file_->write_at(size_, bytes));
    size_ += static_cast<int64_t>(bytes.size());
    return absl::OkStatus();
  }
  absl::Status sync() override { return file_->sync(); }
  absl::Status close() override { return file_->close(); }

 private:
  const std::unique_ptr<PositionedFile> file_;
  int64_t size_ = 0;
};

std::vector<std::string> parts_of(const std::string& path) {
  std::vector<std::string> parts = absl::StrSplit(path, '/', absl::SkipEmpty());
  parts.erase(std::remove(parts.begin(), parts.end(), "."), parts.end());
  return parts;
}

absl::Status denied(const std::string& path, absl::string_view why) {
  return absl::PermissionDeniedError(absl::StrCat("cannot write ", path, ": ", why));
}

void add_to_fingerprint(const Node& node, const std::string& name, Xxh3Stream* stream) {
  if (node.was_locked) {
    stream->update(name);
    return;
  }
  stream->update(absl::StrCat(node.is_directory ? "d" : "f", name.size(), ":", name,
                              node.is_directory ? node.entries.size() : node.content.size(), ":"));
  stream->update(node.content);
  for (const auto& [child, entry] : node.entries) add_to_fingerprint(*entry, child, stream);
}

}  // namespace

struct MemoryFileSystem::State {
  Mutex mutex;
  std::shared_ptr<Node> root ABSL_GUARDED_BY(mutex) = std::make_shared<Node>();
  int64_t capacity ABSL_GUARDED_BY(mutex) = std::numeric_limits<int64_t>::max();
  int64_t used ABSL_GUARDED_BY(mutex) = 0;

  std::shared_ptr<Node> find(const std::string& path) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex) {
    std::shared_ptr<Node> node = root;
    for (const std::string& part : parts_of(path)) {
      if (!node->is_directory) return nullptr;
      const auto entry = node->entries.find(part);
      if (entry == node->entries.end()) return nullptr;
      node = entry->second;
    }
    return node;
  }

  // The directory that a path is in, and the last name in the path.
  absl::StatusOr<std::shared_ptr<Node>> parent(const std::string& path, std::string* name)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex) {
    const std::vector<std::string> parts = parts_of(path);
    if (parts.empty()) return denied(path, "it is the root");
    *name = parts.back();
    std::string above;
    for (size_t i = 0; i + 1 < parts.size(); ++i) absl::StrAppend(&above, "/", parts[i]);
    std::shared_ptr<Node> node = find(above);
    if (node == nullptr || !node->is_directory) return denied(path, "there is no directory");
    return node;
  }

  absl::Status resize(Node& node, int64_t size, const std::string& path)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex) {
    const int64_t more = size - static_cast<int64_t>(node.content.size());
    if (more > capacity - used) {
      return absl::ResourceExhaustedError(absl::StrCat("cannot write ", path, ": disk full"));
    }
    used += more;
    node.content.resize(size);
    return absl::OkStatus();
  }

  // A name of a node is gone.
  void drop(Node& node) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex) {
    if (--node.names == 0) used -= static_cast<int64_t>(node.content.size());
  }

  absl::StatusOr<std::shared_ptr<Node>> make_file(const std::string& path)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex) {
    std::string name;
    ASSIGN_OR_RETURN(const std::shared_ptr<Node> directory, parent(path, &name));
    std::shared_ptr<Node>& node = directory->entries[name];
    if (node == nullptr) node = std::make_shared<Node>();
    if (node->is_directory) return denied(path, "it is a directory");
    return node;
  }
};

namespace {

using State = MemoryFileSystem::State;

class MemoryReadableFile : public ReadableFile {
 public:
  MemoryReadableFile(std::shared_ptr<State> state, std::shared_ptr<Node> node, std::string path,
                     int64_t size)
      : state_(std::move(state)), node_(std::move(node)), path_(std::move(path)), size_(size) {}
  const std::string& path() const override { return path_; }
  int64_t size_bytes() const override { return size_; }
  absl::StatusOr<int64_t> read_at(int64_t offset, int64_t count, void* buffer) override {
    MutexLock lock(state_->mutex);
    const int64_t left = static_cast<int64_t>(node_->content.size()) - offset;
    count = std::max<int64_t>(0, std::min(count, left));
    if (count > 0) std::memcpy(buffer, node_->content.data() + offset, count);
    return count;
  }

 private:
  const std::shared_ptr<State> state_;
  const std::shared_ptr<Node> node_;
  const std::string path_;
  const int64_t size_;
};

// Both kinds of files that are written.
class MemoryWriter : public WritableFile, public PositionedFile {
 public:
  MemoryWriter(std::shared_ptr<State> state, std::shared_ptr<Node> node, std::string path)
      : state_(std::move(state)), node_(std::move(node)), path_(std::move(path)) {}
  absl::Status append(absl::string_view bytes) override {
    MutexLock lock(state_->mutex);
    return write(node_->content.size(), bytes);
  }
  absl::Status write_at(int64_t offset, absl::string_view bytes) override {
    MutexLock lock(state_->mutex);
    return write(offset, bytes);
  }
  absl::Status sync() override { return absl::OkStatus(); }
  absl::Status close() override { return absl::OkStatus(); }

 private:
  absl::Status write(int64_t offset, absl::string_view bytes)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(state_->mutex) {
    const int64_t end = offset + static_cast<int64_t>(bytes.size());
    if (end > static_cast<int64_t>(node_->content.size())) {
      RETURN_IF_ERROR(state_->resize(*node_, end, path_));
    }
    if (!bytes.empty()) std::memcpy(node_->content.data() + offset, bytes.data(), bytes.size());
    return absl::OkStatus();
  }

  const std::shared_ptr<State> state_;
  const std::shared_ptr<Node> node_;
  const std::string path_;
};

class MemoryFileLock : public FileLock {
 public:
  MemoryFileLock(std::shared_ptr<State> state, std::shared_ptr<Node> node)
      : state_(std::move(state)), node_(std::move(node)) {}
  ~MemoryFileLock() override {
    MutexLock lock(state_->mutex);
    node_->locked = false;
  }
  absl::Status write(absl::string_view content) override {
    MutexLock lock(state_->mutex);
    RETURN_IF_ERROR(state_->resize(*node_, content.size(), "a lock"));
    node_->content = std::string(content);
    return absl::OkStatus();
  }

 private:
  const std::shared_ptr<State> state_;
  const std::shared_ptr<Node> node_;
};

void collect(const Node& node, const std::string& path, const std::string& pattern,
             std::vector<std::string>* paths) {
  if (!path.empty() && ::fnmatch(pattern.c_str(), path.c_str(), FNM_PATHNAME | FNM_PERIOD) == 0) {
    paths->push_back(path);
  }
  for (const auto& [name, entry] : node.entries) {
    const bool relative = path.empty() && pattern[0] != '/';
    collect(*entry, relative ? name : absl::StrCat(path, "/", name), pattern, paths);
  }
}

}  // namespace

absl::StatusOr<std::unique_ptr<WritableFile>> write_in_order(
    absl::StatusOr<std::unique_ptr<PositionedFile>> file) {
  RETURN_IF_ERROR(file.status());
  return std::make_unique<SequentialFile>(*std::move(file));
}

MemoryFileSystem::MemoryFileSystem() : state_(std::make_shared<State>()) {
  MutexLock lock(state_->mutex);
  state_->root->is_directory = true;
}

void MemoryFileSystem::set_capacity(int64_t bytes) {
  MutexLock lock(state_->mutex);
  state_->capacity = bytes;
}

int64_t MemoryFileSystem::used_bytes() const {
  MutexLock lock(state_->mutex);
  return state_->used;
}

void MemoryFileSystem::put(const std::string& path, std::string content) {
  create_directories(directory_of(path)).IgnoreError();
  MutexLock lock(state_->mutex);
  const auto node = state_->make_file(path);
  if (!node.ok()) return;
  state_->used += static_cast<int64_t>(content.size() - (*node)->content.size());
  (*node)->content = std::move(content);
}

absl::uint128 MemoryFileSystem::fingerprint() const {
  MutexLock lock(state_->mutex);
  Xxh3Stream stream;
  add_to_fingerprint(*state_->root, "", &stream);
  return stream.digest();
}

absl::StatusOr<std::unique_ptr<ReadableFile>> MemoryFileSystem::open(const std::string& path) {
  MutexLock lock(state_->mutex);
  std::shared_ptr<Node> node = state_->find(path);
  if (node == nullptr) return absl::NotFoundError(absl::StrCat("cannot open ", path));
  if (node->is_directory) {
    return absl::FailedPreconditionError(absl::StrCat("cannot open ", path, ": a directory"));
  }
  const int64_t size = node->content.size();
  return std::make_unique<MemoryReadableFile>(state_, std::move(node), path, size);
}

absl::StatusOr<std::unique_ptr<WritableFile>> MemoryFileSystem::create(const std::string& path) {
  MutexLock lock(state_->mutex);
  ASSIGN_OR_RETURN(std::shared_ptr<Node> node, state_->make_file(path));
  RETURN_IF_ERROR(state_->resize(*node, 0, path));
  return std::make_unique<MemoryWriter>(state_, std::move(node), path);
}

absl::StatusOr<std::unique_ptr<WritableFile>> MemoryFileSystem::open_for_append(
    const std::string& path) {
  MutexLock lock(state_->mutex);
  ASSIGN_OR_RETURN(std::shared_ptr<Node> node, state_->make_file(path));
  return std::make_unique<MemoryWriter>(state_, std::move(node), path);
}

absl::StatusOr<std::unique_ptr<PositionedFile>> MemoryFileSystem::create_new(
    const std::string& path, int64_t size_bytes) {
  MutexLock lock(state_->mutex);
  if (state_->find(path) != nullptr) return denied(path, "it is there already");
  if (size_bytes > state_->capacity - state_->used) {
    return absl::ResourceExhaustedError(absl::StrCat("cannot write ", path, ": disk full"));
  }
  ASSIGN_OR_RETURN(std::shared_ptr<Node> node, state_->make_file(path));
  RETURN_IF_ERROR(state_->resize(*node, size_bytes, path));
  return std::make_unique<MemoryWriter>(state_, std::move(node), path);
}

absl::StatusOr<FileInfo> MemoryFileSystem::info(const std::string& path) {
  MutexLock lock(state_->mutex);
  const std::shared_ptr<Node> node = state_->find(path);
  if (node == nullptr) return absl::NotFoundError(absl::StrCat("cannot find ", path));
  const FileKind kind = node->is_directory ? FileKind::kDirectory : FileKind::kRegular;
  return FileInfo{static_cast<int64_t>(node->content.size()), node->is_directory, kind};
}

absl::StatusOr<std::vector<std::string>> MemoryFileSystem::glob(const std::string& pattern) {
  MutexLock lock(state_->mutex);
  std::vector<std::string> paths;
  collect(*state_->root, "", pattern, &paths);
  std::sort(paths.begin(), paths.end());
  return paths;
}

absl::StatusOr<std::vector<DirectoryEntry>> MemoryFileSystem::list(const std::string& path) {
  MutexLock lock(state_->mutex);
  const std::shared_ptr<Node> node = state_->find(path);
  if (node == nullptr) return absl::NotFoundError(absl::StrCat("cannot list ", path));
  if (!node->is_directory) {
    return absl::FailedPreconditionError(absl::StrCat("cannot list ", path, ": a file"));
  }
  std::vector<DirectoryEntry> entries;
  for (const auto& [name, entry] : node->entries) {
    entries.push_back({name, entry->is_directory ? FileKind::kDirectory : FileKind::kRegular});
  }
  return entries;
}

absl::Status MemoryFileSystem::create_directories(const std::string& path) {
  MutexLock lock(state_->mutex);
  std::shared_ptr<Node> node = state_->root;
  for (const std::string& part : parts_of(path)) {
    std::shared_ptr<Node>& entry = node->entries[part];
    if (entry == nullptr) {
      entry = std::make_shared<Node>();
      entry->is_directory = true;
    }
    if (!entry->is_directory) return denied(path, "a part of it is a file");
    node = entry;
  }
  return absl::OkStatus();
}

absl::Status MemoryFileSystem::rename(const std::string& from, const std::string& to) {
  MutexLock lock(state_->mutex);
  std::string from_name, to_name;
  ASSIGN_OR_RETURN(const std::shared_ptr<Node> from_parent, state_->parent(from, &from_name));
  ASSIGN_OR_RETURN(const std::shared_ptr<Node> to_parent, state_->parent(to, &to_name));
  const auto moved = from_parent->entries.find(from_name);
  if (moved == from_parent->entries.end()) return denied(from, "it is not there");
  const std::shared_ptr<Node> node = moved->second;
  const auto replaced = to_parent->entries.find(to_name);
  if (replaced != to_parent->entries.end()) {
    Node& old = *replaced->second;
    if (&old == node.get()) return absl::OkStatus();
    if (old.is_directory != node->is_directory || !old.entries.empty()) {
      return denied(to, "something else is there");
    }
    state_->drop(old);
  }
  from_parent->entries.erase(from_name);
  to_parent->entries[to_name] = node;
  return absl::OkStatus();
}

absl::Status MemoryFileSystem::link(const std::string& from, const std::string& to) {
  MutexLock lock(state_->mutex);
  const std::shared_ptr<Node> node = state_->find(from);
  if (node == nullptr || node->is_directory) return denied(from, "there is no such file");
  std::string name;
  ASSIGN_OR_RETURN(const std::shared_ptr<Node> directory, state_->parent(to, &name));
  if (!directory->entries.emplace(name, node).second) return denied(to, "it is there already");
  ++node->names;
  return absl::OkStatus();
}

absl::Status MemoryFileSystem::remove(const std::string& path) {
  MutexLock lock(state_->mutex);
  std::string name;
  ASSIGN_OR_RETURN(const std::shared_ptr<Node> directory, state_->parent(path, &name));
  const auto entry = directory->entries.find(name);
  if (entry == directory->entries.end()) return denied(path, "it is not there");
  if (!entry->second->entries.empty()) {
    return absl::UnavailableError(absl::StrCat("cannot remove ", path, ": not empty"));
  }
  state_->drop(*entry->second);
  directory->entries.erase(entry);
  return absl::OkStatus();
}

absl::Status MemoryFileSystem::sync_directory(const std::string& path) {
  MutexLock lock(state_->mutex);
  const std::shared_ptr<Node> node = state_->find(path);
  if (node != nullptr && node->is_directory) return absl::OkStatus();
  return denied(path, "there is no such directory");
}

absl::StatusOr<int64_t> MemoryFileSystem::free_bytes(const std::string& path) {
  MutexLock lock(state_->mutex);
  if (state_->find(path) == nullptr) return absl::NotFoundError(absl::StrCat("cannot find ", path));
  return state_->capacity - state_->used;
}

absl::StatusOr<std::unique_ptr<FileLock>> MemoryFileSystem::lock(const std::string& path) {
  MutexLock lock(state_->mutex);
  ASSIGN_OR_RETURN(std::shared_ptr<Node> node, state_->make_file(path));
  if (node->locked) return nullptr;
  node->locked = node->was_locked = true;
  return std::make_unique<MemoryFileLock>(state_, std::move(node));
}

}  // namespace millrace
