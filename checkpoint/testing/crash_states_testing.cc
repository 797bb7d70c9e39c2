#include "checkpoint/testing/crash_states_testing.h"

#include <algorithm>
#include <iterator>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "base/random/philox.h"

namespace millrace {
namespace {

using Kind = FileOperation::Kind;

constexpr int kNothing = -1;
constexpr int64_t kNever = std::numeric_limits<int64_t>::max();

// The fate of an operation that was not durable. After a write torn at `cut` 256ths, the disk may
// have the first part, the second part with zeros before it, or zeros alone.
struct Fate {
  enum Kind : uint8_t { kLost, kKept, kBefore, kAfter, kZeros };
  Kind kind = kLost;
  uint8_t cut = 128;
};
constexpr int kFates = 5;
constexpr const char* kFateNames[] = {"lost", "kept", "torn, the start", "torn, the end", "zeros"};

// Number, out of 256, of names that are lost in a mix.
constexpr uint8_t kLosses[] = {128, 32, 8};

// A change of a name in a directory, by the number of the directory: the name refers to `node`.
struct Entry {
  int directory;
  std::string name;
  int node;  // or kNothing
};

// An operation on nodes: directories and files by number, independent of their names.
struct Effect {
  int64_t operation = 0;
  std::vector<Entry> entries = {};  // all at once
  int node = kNothing;              // whose bytes change
  int64_t offset = 0;
  std::string bytes = {};
  int64_t durable_after = kNever;  // the operation that makes it durable
  bool can_tear() const { return node != kNothing; }
};

// The tree of nodes as the program saw it, which resolves names to nodes.
class Resolver {
 public:
  explicit Resolver(const std::vector<FileOperation>& operations) : operations_(operations) {
    for (size_t i = 0; i < operations.size(); ++i) resolve(i);
  }

  std::vector<Effect> take() { return std::move(effects_); }
  // Returns true for each node that is a directory.
  std::vector<bool> are_directories() const {
    std::vector<bool> result(nodes_, false);
    for (size_t i = 0; i < directories_.size(); ++i) result[i] = directories_[i].has_value();
    return result;
  }

 private:
  using Directory = std::map<std::string, int>;

  static std::vector<std::string> parts(const std::string& path) {
    std::vector<std::string> parts = absl::StrSplit(path, '/', absl::SkipEmpty());
    parts.erase(std::remove(parts.begin(), parts.end(), "."), parts.end());
    return parts;
  }

  int find(const std::string& path) {
    int node = 0;
    for (const std::string& part : parts(path)) node = directories_[node]->at(part);
    return node;
  }
  // Returns the directory and the last name of a path.
  std::pair<int, std::string> place(const std::string& path) {
    return {find(directory_of(path)), parts(path).back()};
  }

  int new_node(std::optional<Directory> directory) {
    directories_.push_back(std::move(directory));
    return nodes_++;
  }

  void set_entries(int64_t operation, std::vector<Entry> entries) {
    for (const Entry& entry : entries) {
      if (entry.node == kNothing) {
        directories_[entry.directory]->erase(entry.name);
      } else {
        (*directories_[entry.directory])[entry.name] = entry.node;
      }
    }
    effects_.push_back({operation, std::move(entries)});
  }

  void make(int64_t operation, const std::string& path, int node) {
    const auto [directory, name] = place(path);
    set_entries(operation, {{directory, name, node}});
  }

  void sync_file(int64_t operation, int node) {
    for (Effect& effect : effects_) {
      if (effect.node == node) effect.durable_after = std::min(effect.durable_after, operation);
    }
  }

  void sync_directory(int64_t operation, int directory) {
    synced_[directory] = operation;
    for (Effect& effect : effects_) {
      if (effect.entries.empty() || effect.durable_after != kNever) continue;
      // Renaming from one directory to another requires a sync of both.
      const bool all =
          std::all_of(effect.entries.begin(), effect.entries.end(), [&](const Entry& entry) {
            const auto synced = synced_.find(entry.directory);
            return synced != synced_.end() && synced->second > effect.operation;
          });
      if (all) effect.durable_after = operation;
    }
  }

  void resolve(int64_t i) {
    const FileOperation& operation = operations_[i];
    switch (operation.kind) {
      case Kind::kCreate: {
        const int node = new_node(std::nullopt);
        files_[operation.file] = node;
        make(i, operation.path, node);
        if (operation.offset > 0) {
          effects_.push_back({i, {}, node, 0, std::string(operation.offset, '\0')});
        }
        break;
      }
      case Kind::kWrite:
        effects_.push_back({i, {}, files_.at(operation.file), operation.offset, operation.bytes});
        break;
      case Kind::kSync: sync_file(i, files_.at(operation.file)); break;
      case Kind::kMakeDirectory: make(i, operation.path, new_node(Directory())); break;
      case Kind::kRename: {
        const auto [from, from_name] = place(operation.path);
        const auto [to, to_name] = place(operation.to);
        const int node = directories_[from]->at(from_name);
        set_entries(i, {{from, from_name, kNothing}, {to, to_name, node}});
        break;
      }
      case Kind::kLink: make(i, operation.to, find(operation.path)); break;
      case Kind::kRemove: {
        const auto [directory, name] = place(operation.path);
        set_entries(i, {{directory, name, kNothing}});
        break;
      }
      case Kind::kSyncDirectory: sync_directory(i, find(operation.path)); break;
      case Kind::kMark: break;
    }
  }

  const std::vector<FileOperation>& operations_;
  std::vector<std::optional<Directory>> directories_ = {Directory()};  // by node; none: a file
  int nodes_ = 1;
  std::map<int64_t, int> files_;   // nodes by number of the open file
  std::map<int, int64_t> synced_;  // directories: last sync
  std::vector<Effect> effects_;
};

// A disk under construction.
class Disk {
 public:
  explicit Disk(const std::vector<bool>& are_directories)
      : are_directories_(are_directories),
        directories_(are_directories.size()),
        contents_(are_directories.size()) {}

  void apply(const Effect& effect, Fate fate) {
    if (fate.kind == Fate::kLost) return;
    for (const Entry& entry : effect.entries) {
      if (entry.node == kNothing) {
        directories_[entry.directory].erase(entry.name);
      } else {
        directories_[entry.directory][entry.name] = entry.node;
      }
    }
    if (effect.node == kNothing) return;
    std::string bytes = effect.bytes;
    const size_t cut = bytes.size() * fate.cut / 256;
    if (fate.kind == Fate::kBefore) bytes.resize(cut);
    if (fate.kind == Fate::kAfter) std::fill(bytes.begin(), bytes.begin() + cut, '\0');
    if (fate.kind == Fate::kZeros) bytes.assign(bytes.size(), '\0');
    std::string& content = contents_[effect.node];
    content.resize(std::max(content.size(), effect.offset + bytes.size()));
    content.replace(effect.offset, bytes.size(), bytes);
  }

  std::unique_ptr<MemoryFileSystem> files() const {
    auto files = std::make_unique<MemoryFileSystem>();
    put(0, "", *files);
    return files;
  }

 private:
  void put(int node, const std::string& path, MemoryFileSystem& files) const {
    if (!are_directories_[node]) return files.put(path, contents_[node]);
    files.create_directories(path).IgnoreError();
    for (const auto& [name, entry] : directories_[node]) {
      put(entry, absl::StrCat(path, "/", name), files);
    }
  }

  const std::vector<bool>& are_directories_;
  std::vector<std::map<std::string, int>> directories_;
  std::vector<std::string> contents_;
};

class Enumerator {
 public:
  Enumerator(const std::vector<FileOperation>& operations, const CrashOptions& options,
             const std::function<bool(const CrashState&)>& look)
      : operations_(operations), options_(options), look_(look) {
    Resolver resolver(operations);
    are_directories_ = resolver.are_directories();
    effects_ = resolver.take();
  }

  CrashCounts run() {
    const int64_t points = operations_.size() + 1;
    for (point_ = 0; point_ < points && !stopped_; ++point_) {
      const int64_t left = options_.max_states - counts_.enumerated;
      run_point(left / (points - point_));
    }
    return counts_;
  }

 private:
  void run_point(int64_t budget) {
    pending_.clear();
    marks_.clear();
    for (size_t i = 0; i < effects_.size(); ++i) {
      if (effects_[i].operation < point_ && effects_[i].durable_after >= point_) {
        pending_.push_back(i);
      }
    }
    for (int64_t i = 0; i < point_; ++i) {
      if (operations_[i].kind == Kind::kMark) marks_.push_back(operations_[i].path);
    }
    const int64_t end = counts_.enumerated + std::max<int64_t>(budget, 1);
    auto spent = [&] { return stopped_ || counts_.enumerated >= end; };
    fates_.assign(pending_.size(), {Fate::kLost});
    visit();
    if (pending_.empty()) return;
    one_by_one(spent);
    for (uint64_t mix = 0; !spent(); ++mix) {
      // A lost name hides everything below it, so most states have few lost names.
      const uint8_t losses = kLosses[mix % std::size(kLosses)];
      for (size_t i = 0; i < pending_.size(); ++i) {
        const uint64_t random = philox64(options_.seed, point_, mix << 16 | i);
        fates_[i] = {static_cast<Fate::Kind>(random % kFates), static_cast<uint8_t>(random >> 32)};
        const bool lost = static_cast<uint8_t>(random >> 40) < losses;
        if (!effects_[pending_[i]].can_tear()) fates_[i].kind = lost ? Fate::kLost : Fate::kKept;
      }
      visit();
    }
  }

  template <typename Spent>
  void one_by_one(const Spent& spent) {
    auto visit_with = [&](Fate::Kind others, size_t i, Fate::Kind fate) {
      if (spent()) return;
      fates_.assign(pending_.size(), {others});
      fates_[i].kind = fate;
      visit();
    };
    visit_with(Fate::kKept, 0, Fate::kKept);
    for (size_t i = 0; i < pending_.size(); ++i) {
      const int fates = effects_[pending_[i]].can_tear() ? kFates : 2;
      for (int fate = 0; fate < fates; ++fate) {
        if (fate != Fate::kKept) visit_with(Fate::kKept, i, static_cast<Fate::Kind>(fate));
      }
    }
    for (size_t i = 0; i < pending_.size(); ++i) visit_with(Fate::kLost, i, Fate::kKept);
    for (size_t i = 1; i < pending_.size() && !spent(); ++i) {
      fates_.assign(pending_.size(), {Fate::kLost});
      std::fill(fates_.begin(), fates_.begin() + i, Fate{Fate::kKept});
      visit();
    }
  }

  // Passes the state of the current fates to `look`, unless an equal state was passed before.
  void visit() {
    ++counts_.enumerated;
    Disk disk(are_directories_);
    size_t next = 0;
    for (size_t i = 0; i < effects_.size() && effects_[i].operation < point_; ++i) {
      const bool pending = next < pending_.size() && pending_[next] == i;
      disk.apply(effects_[i], pending ? fates_[next++] : Fate{Fate::kKept});
    }
    CrashState state{disk.files(), point_, marks_};
    const absl::uint128 print = state.files->fingerprint() + marks_.size();
    if (!seen_.insert({absl::Uint128High64(print), absl::Uint128Low64(print)}).second) return;
    ++counts_.distinct;
    state.what = describe();
    stopped_ = !look_(state);
  }

  std::string describe() const {
    std::string text = absl::StrCat("after ", point_, " operations");
    for (size_t i = 0; i < pending_.size(); ++i) {
      const FileOperation& operation = operations_[effects_[pending_[i]].operation];
      absl::StrAppend(&text, "\n  ", kFateNames[fates_[i].kind], ": operation ",
                      effects_[pending_[i]].operation, " ", operation.path, " ", operation.to);
      if (operation.file >= 0) absl::StrAppend(&text, " of file ", operation.file);
    }
    return text;
  }

  const std::vector<FileOperation>& operations_;
  const CrashOptions options_;
  const std::function<bool(const CrashState&)>& look_;
  std::vector<bool> are_directories_;
  std::vector<Effect> effects_;
  CrashCounts counts_;
  bool stopped_ = false;
  std::set<std::pair<uint64_t, uint64_t>> seen_;
  // State of the current point: the crash comes before operation point_.
  int64_t point_ = 0;
  std::vector<size_t> pending_;  // effects that are not durable
  std::vector<Fate> fates_;      // of pending_
  std::vector<std::string> marks_;
};

}  // namespace

CrashCounts for_each_crash_state(const std::vector<FileOperation>& operations,
                                 const CrashOptions& options,
                                 const std::function<bool(const CrashState&)>& look) {
  return Enumerator(operations, options, look).run();
}

}  // namespace millrace
