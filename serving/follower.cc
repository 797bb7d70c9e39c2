#include "serving/follower.h"

#include <malloc.h>

#include <algorithm>
#include <functional>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/catch_exceptions.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/status_macros.h"
#include "checkpoint/folder/checkpoint_list.h"
#include "checkpoint/folder/checkpoint_path.h"
#include "checkpoint/format/checkpoint_names.h"
#include "checkpoint/published/published_folder.h"

namespace millrace {
namespace {

constexpr absl::Duration kBetweenReleases = absl::Seconds(10);

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

// Gives memory of former versions back to the system: the C library keeps pieces of that size,
// which are most of the memory of a server that follows. Other threads wait for their arena
// meanwhile.
void release_memory() { malloc_trim(0); }

// Returns the paths of the published versions that may be loaded at the start: the one to serve,
// then, in case it is damaged, those before it.
absl::StatusOr<std::vector<std::string>> published_paths(FileSystem& files,
                                                         const std::string& folder) {
  ASSIGN_OR_RETURN(const std::optional<ServedVersion> served, served_version(files, folder));
  if (!served.has_value()) return std::vector<std::string>();
  ASSIGN_OR_RETURN(const PublishedVersions versions, read_versions(files, folder));
  std::set<int64_t, std::greater<>> steps;
  for (const PublishedVersions::Version& version : versions.versions()) {
    const bool is_published = version.state() == PublishedVersions::PUBLISHED;
    if (is_published && version.step() <= served->step) steps.insert(version.step());
  }
  std::vector<std::string> paths;
  for (const int64_t step : steps) paths.push_back(join_path(folder, checkpoint_name(step)));
  return paths;
}

}  // namespace

absl::StatusOr<ServedPlace> resolve_served_place(FileSystem& files, const std::string& path) {
  ServedPlace place;
  place.files = &files;
  if (is_published_folder(files, path)) {
    place.path = path;
    place.kind = ServedPlace::kPublished;
    ASSIGN_OR_RETURN(place.copies, PublishedFiles::create(files, path));
    place.files = place.copies.get();
    return place;
  }
  ASSIGN_OR_RETURN(const CheckpointPath resolved, resolve_checkpoint_path(files, path));
  place.path = resolved.path;
  place.kind = resolved.is_checkpoint ? ServedPlace::kCheckpoint : ServedPlace::kCheckpoints;
  return place;
}

absl::StatusOr<std::shared_ptr<const ModelVersion>> load_newest(const ServedPlace& place) {
  FileSystem& files = *place.files;
  if (place.kind == ServedPlace::kCheckpoint) return load_version(files, place.path);
  // A run that saves may remove a checkpoint while it is read; then there are newer ones.
  std::vector<std::string> paths, before;
  absl::Status failure;
  do {
    before = std::move(paths);
    ASSIGN_OR_RETURN(paths, place.kind == ServedPlace::kPublished
                                ? published_paths(files, place.path)
                                : checkpoint_paths(files, place.path, 0));
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
    if (version != nullptr) {
      release_memory();
      return version;
    }
    failure = search.damaged.front();
  } while (paths != before);
  return failure;
}

Follower::Follower(const ServedPlace& place, absl::Duration interval, Predictor& predictor)
    : files_(*place.files),
      folder_(place.path),
      is_published_(place.kind == ServedPlace::kPublished),
      interval_(interval),
      predictor_(predictor) {}

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

// Returns the paths of the checkpoints to take, the best first.
absl::StatusOr<std::vector<std::string>> Follower::candidates() {
  if (!is_published_) return checkpoint_paths(files_, folder_, predictor_.version()->step);
  ASSIGN_OR_RETURN(const std::optional<ServedVersion> served, served_version(files_, folder_));
  if (!served.has_value()) return std::vector<std::string>();
  data_time_ = served->data_time;
  if (predictor_.version()->digest == served->digest) {
    MutexLock lock(mutex_);
    counts_.data_time = data_time_;
    return std::vector<std::string>();
  }
  return std::vector<std::string>{join_path(folder_, checkpoint_name(served->step))};
}

bool Follower::poll() {
  bool changed = false;
  const absl::Status polled = catch_exceptions("a new version", [&]() -> absl::Status {
    ASSIGN_OR_RETURN(const std::vector<std::string> paths, candidates());
    for (const std::string& path : paths) {
      // Not complete yet, or removed meanwhile. What a list names must be there.
      if (!is_published_ && !has_manifest(files_, path)) continue;
      absl::StatusOr<bool> taken = take(path);
      // The step may have been saved again while it was read.
      if (is_damage(taken.status())) taken = take(path);
      // The next older one may do.
      if (!is_published_ && !taken.ok() && !has_manifest(files_, path)) continue;
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
  {
    MutexLock lock(mutex_);
    ++counts_.refused;
  }
  MILLRACE_LOG(WARNING) << "passed over: " << why.message();
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
    counts_.data_time = data_time_;
    counts_.freshness = absl::ZeroDuration();
    absl::Time newest;
    if (absl::ParseTime(absl::RFC3339_full, data_time_, &newest, nullptr)) {
      counts_.freshness = Clock::real().now() - newest;
    }
  }
  merge();
  MILLRACE_LOG(INFO) << "serving " << path
                     << (counted.full_loads > 0 ? ", loaded whole" : ", by its changes");
  const absl::Duration now = Clock::real().elapsed();
  if (counted.full_loads > 0 || now - released_ > kBetweenReleases) {
    release_memory();
    released_ = now;
  }
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
