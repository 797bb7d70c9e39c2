#include "serving/follower.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/catch_exceptions.h"
#include "base/log.h"
#include "base/status_macros.h"
#include "checkpoint/folder/checkpoint_list.h"
#include "checkpoint/folder/checkpoint_path.h"
#include "checkpoint/format/checkpoint_names.h"

namespace millrace {
namespace {

// Returns the paths of the checkpoints of a folder of at least this step, newest first.
absl::StatusOr<std::vector<std::string>> checkpoint_paths(FileSystem& files,
                                                          const std::string& folder, int64_t step) {
  ASSIGN_OR_RETURN(const std::vector<DirectoryEntry> entries, files.list(folder));
  std::vector<std::pair<int64_t, std::string>> found;
  for (const DirectoryEntry& entry : entries) {
    const auto name = parse_checkpoint_name(entry.name);
    if (!name.has_value() || name->kind != CheckpointName::Kind::kCheckpoint) continue;
    if (name->step >= step) found.emplace_back(name->step, join_path(folder, entry.name));
  }
  std::sort(found.rbegin(), found.rend());
  std::vector<std::string> paths;
  for (auto& [number, path] : found) paths.push_back(std::move(path));
  return paths;
}

bool has_manifest(FileSystem& files, const std::string& path) {
  return files.link_info(join_path(path, kManifestName)).ok();
}

}  // namespace

absl::StatusOr<std::shared_ptr<const ModelVersion>> load_newest(FileSystem& files,
                                                                const std::string& path) {
  ASSIGN_OR_RETURN(const CheckpointPath place, resolve_checkpoint_path(files, path));
  if (place.is_checkpoint) return load_version(files, place.path);
  // A run that saves may remove a checkpoint while it is read; then there are newer ones.
  std::vector<std::string> paths, before;
  absl::Status failure;
  do {
    before = std::move(paths);
    ASSIGN_OR_RETURN(paths, checkpoint_paths(files, place.path, 0));
    if (paths.empty()) {
      return absl::NotFoundError(absl::StrCat("there is no checkpoint in ", place.path));
    }
    std::shared_ptr<const ModelVersion> version;
    ASSIGN_OR_RETURN(
        const NewestSearch search,
        search_newest(paths, OnDamage::kFallback, [&](size_t i) -> absl::StatusOr<bool> {
          ASSIGN_OR_RETURN(version, load_version(files, paths[i]));
          return true;
        }));
    for (const absl::Status& damaged : search.damaged) {
      MILLRACE_LOG(WARNING) << "passed over: " << damaged.message();
    }
    if (version != nullptr) return version;
    failure = search.damaged.front();
  } while (paths != before);
  return failure;
}

Follower::Follower(FileSystem& files, std::string folder, absl::Duration interval,
                   Predictor& predictor)
    : files_(files), folder_(std::move(folder)), interval_(interval), predictor_(predictor) {}

Follower::~Follower() {
  {
    MutexLock lock(mutex_);
    stopping_ = true;
  }
  if (thread_.joinable()) thread_.join();
}

void Follower::start() {
  thread_ = std::thread([this] { run(); });
}

void Follower::run() {
  for (;;) {
    {
      MutexLock lock(mutex_);
      if (mutex_.await_for(interval_, [this] { return stopping_; })) return;
    }
    poll();
  }
}

FollowerCounts Follower::counts() const {
  MutexLock lock(mutex_);
  return counts_;
}

// Returns the version of `newest`, by deltas on the served version if there are any.
absl::StatusOr<std::shared_ptr<const ModelVersion>> Follower::advance(
    const CheckpointReader& newest, FollowerCounts* counts) {
  const std::shared_ptr<const ModelVersion> served = predictor_.version();
  ASSIGN_OR_RETURN(const auto chain, open_chain(files_, newest.directory()));
  // A step that was saved again, such as with the results of an evaluation: the next delta names
  // it.
  std::shared_ptr<const ModelVersion> again = same_content(*served, newest);
  if (again != nullptr) return again;
  for (size_t i = 0; i + 1 < chain.size(); ++i) {
    if (chain[i]->manifest().digest() != served->digest) continue;
    const auto deltas = absl::MakeConstSpan(chain).subspan(i + 1);
    counts->deltas += static_cast<int64_t>(deltas.size());
    return apply_deltas(served, deltas);
  }
  ++counts->full_loads;
  return load_version(files_, chain);
}

bool Follower::poll() {
  bool changed = false;
  const absl::Status polled = catch_exceptions("a new version", [&]() -> absl::Status {
    ASSIGN_OR_RETURN(const std::vector<std::string> paths,
                     checkpoint_paths(files_, folder_, predictor_.version()->step));
    for (const std::string& path : paths) {
      // Not complete yet, or removed meanwhile.
      if (!has_manifest(files_, path)) continue;
      absl::StatusOr<bool> taken = take(path);
      // The next older one may do.
      if (!taken.ok() && !has_manifest(files_, path)) continue;
      if (!taken.ok() && (is_damage(taken.status()) || absl::IsInvalidArgument(taken.status()))) {
        refuse(path, taken.status());
        continue;
      }
      RETURN_IF_ERROR(taken.status());
      changed = *taken;
      return absl::OkStatus();
    }
    return absl::OkStatus();
  });
  const std::string error(polled.message());
  if (!polled.ok() && error != last_error_) {
    MILLRACE_LOG(WARNING) << "cannot look for a new version: " << error;
  }
  last_error_ = error;
  return changed;
}

void Follower::refuse(const std::string& path, const absl::Status& why) {
  if (!refused_.insert(absl::StrCat(path, ": ", why.message())).second) return;
  MILLRACE_LOG(WARNING) << "passed over: " << why.message();
  MutexLock lock(mutex_);
  ++counts_.refused;
}

// Serves the checkpoint at `path`. Returns false if it is served already.
absl::StatusOr<bool> Follower::take(const std::string& path) {
  const std::shared_ptr<const ModelVersion> served = predictor_.version();
  ASSIGN_OR_RETURN(const auto reader, CheckpointReader::open(files_, path));
  const int64_t step = reader->manifest().progress().step();
  if (base_name(path) != checkpoint_name(step)) {
    return absl::DataLossError(absl::StrCat(path, " is a checkpoint of step ", step));
  }
  if (reader->manifest().digest() == served->digest) return false;
  FollowerCounts counted;
  ASSIGN_OR_RETURN(std::shared_ptr<const ModelVersion> next, advance(*reader, &counted));
  RETURN_IF_ERROR(predictor_.set_version(std::move(next)));
  {
    MutexLock lock(mutex_);
    counts_.deltas += counted.deltas;
    counts_.full_loads += counted.full_loads;
  }
  MILLRACE_LOG(INFO) << "serving " << path
                     << (counted.full_loads > 0 ? ", loaded whole" : ", by its changes");
  merge();
  return true;
}

// Moves the overlays of the served version into its bases, a part at a time: a request that still
// reads the old part keeps it, so little more than one part is there twice.
void Follower::merge() {
  for (int part = 0; part < ServedTable::kParts; ++part) {
    std::shared_ptr<const ModelVersion> merged = merge_part(*predictor_.version(), part);
    if (merged == nullptr) continue;
    const absl::Status set = predictor_.set_version(std::move(merged));
    MILLRACE_CHECK(set.ok()) << set;
  }
}

}  // namespace millrace
