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

namespace millrace {

absl::StatusOr<std::shared_ptr<const ModelVersion>> load_newest(FileSystem& files,
                                                                const std::string& path) {
  ASSIGN_OR_RETURN(const CheckpointPath place, resolve_checkpoint_path(files, path));
  if (place.is_checkpoint) return load_version(files, place.path);
  ASSIGN_OR_RETURN(const std::vector<ListedCheckpoint> listed, list_checkpoints(files, place.path));
  if (listed.empty()) {
    return absl::NotFoundError(absl::StrCat("there is no checkpoint in ", place.path));
  }
  std::shared_ptr<const ModelVersion> version;
  const std::vector<std::string> paths = newest_first(listed);
  ASSIGN_OR_RETURN(const NewestSearch search,
                   search_newest(paths, OnDamage::kFallback, [&](size_t i) -> absl::StatusOr<bool> {
                     ASSIGN_OR_RETURN(version, load_version(files, paths[i]));
                     return true;
                   }));
  for (const absl::Status& damaged : search.damaged) {
    MILLRACE_LOG(WARNING) << "passed over: " << damaged.message();
  }
  if (version == nullptr) return search.damaged.front();
  return version;
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
    look();
  }
}

FollowerCounts Follower::counts() const {
  MutexLock lock(mutex_);
  return counts_;
}

// Returns the version at `path`, by deltas on the served version if there are any.
absl::StatusOr<std::shared_ptr<const ModelVersion>> Follower::advance(const std::string& path,
                                                                      FollowerCounts* counts) {
  const std::shared_ptr<const ModelVersion> served = predictor_.version();
  ASSIGN_OR_RETURN(const auto chain, open_chain(files_, path));
  for (size_t i = 0; i + 1 < chain.size(); ++i) {
    if (chain[i]->manifest().digest() != served->digest) continue;
    const auto deltas = absl::MakeConstSpan(chain).subspan(i + 1);
    counts->deltas += static_cast<int64_t>(deltas.size());
    return apply_deltas(served, deltas);
  }
  ++counts->wholes;
  return load_version(files_, path);
}

bool Follower::look() {
  const absl::StatusOr<std::vector<ListedCheckpoint>> listed = list_checkpoints(files_, folder_);
  if (!listed.ok()) {
    MILLRACE_LOG(WARNING) << "cannot look for a new version: " << listed.status().message();
    return false;
  }
  const std::shared_ptr<const ModelVersion> served = predictor_.version();
  for (auto checkpoint = listed->rbegin(); checkpoint != listed->rend(); ++checkpoint) {
    if (checkpoint->step < served->step) return false;
    const std::string digest =
        checkpoint->reader != nullptr ? checkpoint->reader->manifest().digest() : "";
    if (digest == served->digest) return false;
    // A checkpoint without a new step adds no rows: only states of hooks differ.
    if (checkpoint->step == served->step && checkpoint->path == served->path) return false;
    const std::string name = absl::StrCat(checkpoint->path, " ", digest);
    if (refused_.count(name) > 0) continue;
    FollowerCounts counted;
    const absl::Status taken = catch_exceptions("a new version", [&]() -> absl::Status {
      RETURN_IF_ERROR(checkpoint->status);
      ASSIGN_OR_RETURN(auto next, advance(checkpoint->path, &counted));
      return predictor_.set_version(std::move(next));
    });
    if (!taken.ok()) {
      MILLRACE_LOG(WARNING) << "passed over: " << taken.message();
      // Other errors, such as those of a network, may be gone next time.
      if (!is_damage(taken) && !absl::IsInvalidArgument(taken)) return false;
      refused_.insert(name);
      MutexLock lock(mutex_);
      ++counts_.refused;
      continue;
    }
    {
      MutexLock lock(mutex_);
      counts_.deltas += counted.deltas;
      counts_.wholes += counted.wholes;
    }
    merge();
    return true;
  }
  return false;
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
