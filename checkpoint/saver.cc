#include "checkpoint/saver.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/time/time.h"
#include "base/catch_exceptions.h"
#include "base/log.h"
#include "base/status_macros.h"
#include "checkpoint/checkpoint_list.h"
#include "checkpoint/checkpoint_names.h"
#include "checkpoint/commit_directory.h"
#include "checkpoint/frozen_state.h"
#include "checkpoint/manifest.h"
#include "checkpoint/name_path.h"
#include "checkpoint/state_messages.h"
#include "checkpoint/state_reader.h"
#include "proto/config_fingerprint.h"
#include "proto/config_reader.h"

namespace millrace {
namespace {

// Undo logs may take as much, however small the tables are.
constexpr int64_t kLeastUndoBytes = 16 << 20;

// A result on its way to other ranks: the code as one character, then the message or the value.
std::string pack(const absl::StatusOr<std::string>& result) {
  const std::string code(1, static_cast<char>(result.status().raw_code()));
  return code + (result.ok() ? *result : std::string(result.status().message()));
}

absl::StatusOr<std::string> unpack(absl::string_view packed) {
  if (packed.empty()) return absl::InternalError("another rank sent nothing");
  const auto code = static_cast<absl::StatusCode>(packed[0]);
  if (code == absl::StatusCode::kOk) return std::string(packed.substr(1));
  return absl::Status(code, packed.substr(1));
}

// What every rank has, or the error of the lowest rank that has one.
absl::StatusOr<std::vector<std::string>> gather(const absl::StatusOr<std::string>& own,
                                                Collectives& ranks) {
  ASSIGN_OR_RETURN(const std::vector<std::string> all, ranks.all_gather(pack(own)));
  std::vector<std::string> values;
  for (size_t rank = 0; rank < all.size(); ++rank) {
    absl::StatusOr<std::string> value = unpack(all[rank]);
    if (!value.ok() && ranks.world_size() > 1) {
      return annotate(value.status(), absl::StrCat("rank ", rank));
    }
    RETURN_IF_ERROR(value.status());
    values.push_back(*std::move(value));
  }
  return values;
}

// What rank 0 has, or its error. `make` is called there alone.
template <typename Make>
absl::StatusOr<std::string> from_first(const Make& make, Collectives& ranks) {
  std::string own;
  if (ranks.rank() == 0) own = pack(catch_exceptions(make));
  ASSIGN_OR_RETURN(const std::string packed, ranks.broadcast(own, 0));
  return unpack(packed);
}

// Returns: what rank 0 has to know of this rank's files.
absl::StatusOr<std::string> finish_files(CheckpointManifest manifest, CommitDirectory& directory,
                                         ThreadPool& threads) {
  ASSIGN_OR_RETURN(const std::vector<CommitDirectory::File> files, directory.finish_files(threads));
  for (const CommitDirectory::File& file : files) *manifest.add_files() = file;
  return manifest.SerializeAsString();
}

constexpr size_t kMostDifferences = 20;  // that an error lists

// One to a line; of many the first.
std::string in_lines(const std::vector<std::string>& differences) {
  std::string text;
  for (size_t i = 0; i < differences.size() && i < kMostDifferences; ++i) {
    absl::StrAppend(&text, "\n  train.", differences[i]);
  }
  if (differences.size() <= kMostDifferences) return text;
  return absl::StrCat(text, "\n  and ", differences.size() - kMostDifferences, " more");
}

}  // namespace

// One that begin() began.
struct Saver::Pending {
  CheckpointInfo info;
  std::map<std::string, double> metrics;
  StateWriterOptions options;
  std::shared_ptr<UndoBudget> budget;  // shared with the snapshots in `state`
  FrozenState state;                   // until it is written
  absl::StatusOr<std::unique_ptr<CommitDirectory>> directory = absl::UnknownError("not begun");
  CheckpointManifest manifest;
  std::unique_ptr<BackgroundSave> work;  // last: its thread uses the others
};

Saver::~Saver() = default;

Saver::Saver(SaverOptions options, FileSystem& files, const Clock& clock)
    : options_(std::move(options)),
      files_(files),
      clock_(clock),
      threads_(options_.write_threads) {}

absl::StatusOr<std::unique_ptr<Saver>> Saver::create(SaverOptions options, FileSystem& files,
                                                     const Clock& clock) {
  if (options.write_threads < 1 || options.write_threads > 256) {
    return absl::InvalidArgumentError(
        absl::StrCat("write_threads is ", options.write_threads, "; 1 to 256 may be"));
  }
  if (options.max_deltas < 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("max_deltas is ", options.max_deltas, "; must be at least 0"));
  }
  if (options.folder.empty()) return absl::InvalidArgumentError("no folder for checkpoints");
  RETURN_IF_ERROR(check_retention_policy(options.retention));
  return std::unique_ptr<Saver>(new Saver(std::move(options), files, clock));
}

absl::Status Saver::open_folder() {
  if (lock_ != nullptr || options_.read_only) return absl::OkStatus();
  ASSIGN_OR_RETURN(std::unique_ptr<DirectoryLock> lock,
                   DirectoryLock::acquire(files_, options_.folder, clock_));
  ASSIGN_OR_RETURN(const std::vector<std::string> done, clean_up(files_, options_.folder));
  for (const std::string& line : done) MILLRACE_LOG(INFO) << line;
  lock_ = std::move(lock);
  return absl::OkStatus();
}

absl::Status Saver::open(Collectives& ranks) {
  return from_first(
             [&]() -> absl::StatusOr<std::string> {
               RETURN_IF_ERROR(open_folder());
               return std::string();
             },
             ranks)
      .status();
}

// Returns: the nonce. Nothing has been written but the lock.
absl::StatusOr<std::string> Saver::make_room(int64_t bytes, Collectives& ranks) {
  ASSIGN_OR_RETURN(const std::vector<std::string> sizes, gather(absl::StrCat(bytes), ranks));
  return from_first(
      [&]() -> absl::StatusOr<std::string> {
        int64_t total = 0, size = 0;
        for (const std::string& text : sizes) total += absl::SimpleAtoi(text, &size) ? size : 0;
        RETURN_IF_ERROR(open_folder());
        RETURN_IF_ERROR(check_free_space(files_, options_.folder, total));
        return new_nonce();
      },
      ranks);
}

// `parts`: the manifests of all ranks.
absl::Status Saver::commit(const std::vector<std::string>& parts,
                           const std::map<std::string, double>& metrics, CommitDirectory& directory,
                           ThreadPool& threads) {
  CheckpointManifest manifest;
  for (const std::string& part : parts) {
    CheckpointManifest other;
    if (!other.ParseFromString(part)) return absl::InternalError("a rank sent a bad manifest");
    if (!manifest.has_progress()) {
      manifest = std::move(other);
    } else {
      manifest.mutable_files()->MergeFrom(other.files());
    }
  }
  manifest.set_producer(options_.producer);
  manifest.set_created(absl::FormatTime(absl::RFC3339_sec, clock_.now(), absl::UTCTimeZone()));
  manifest.set_fingerprint(options_.fingerprint);
  manifest.set_config(options_.config);
  for (const auto& [name, value] : metrics) {
    CheckpointManifest::Metric* metric = manifest.add_metrics();
    metric->set_name(name);
    metric->set_value(value);
  }
  const int64_t step = manifest.progress().step();
  RETURN_IF_ERROR(directory.commit(std::move(manifest), threads).status());
  retain(step, threads);
  return absl::OkStatus();
}

void Saver::retain(int64_t saved, ThreadPool& threads) {
  const absl::StatusOr<RetentionResult> result =
      apply_retention(files_, options_.folder, options_.retention, Check::kQuick, threads, saved);
  if (!result.ok()) {
    MILLRACE_LOG(WARNING) << "old checkpoints stay: " << result.status().message();
    return;
  }
  for (const absl::Status& status : result->damaged) {
    const std::string line(status.message());
    if (!told_.insert(line).second) continue;
    MILLRACE_LOG(WARNING) << "kept, but no checkpoint to go on from: " << line;
  }
}

absl::StatusOr<CheckpointInfo> Saver::save(const TrainState& state,
                                           const std::map<std::string, double>& metrics,
                                           Collectives& ranks) {
  if (options_.read_only) return absl::FailedPreconditionError("saving is switched off");
  ASSIGN_OR_RETURN(const Progress progress, from_state(state.shared.progress()));
  const std::string what = absl::StrCat("saving step ", progress.step);
  const StateWriterOptions writer_options = {ranks.rank(), ranks.world_size(),
                                             next_base(state, progress.step, ranks.world_size())};
  absl::StatusOr<StateWriter> writer = catch_exceptions(
      [&] { return StateWriter::create(view_state(state), writer_options, threads_); });
  // Ranks that cannot go on say so where the others wait for their sizes.
  absl::StatusOr<std::string> nonce = writer.ok() ? make_room(writer->size_bytes(), ranks)
                                                  : gather(writer.status(), ranks).status();
  RETURN_IF_ERROR(nonce.status(), what);
  const CommitOptions options = {options_.folder, progress.step, *nonce, ranks.rank(),
                                 ranks.world_size()};
  absl::StatusOr<std::unique_ptr<CommitDirectory>> directory =
      CommitDirectory::begin(files_, options);
  absl::StatusOr<std::string> manifest("");
  if (!directory.ok()) {
    manifest = directory.status();
  } else {
    manifest = catch_exceptions([&]() -> absl::StatusOr<std::string> {
      RETURN_IF_ERROR(writer->write(**directory, threads_));
      return finish_files(writer->manifest(), **directory, threads_);
    });
  }
  ASSIGN_OR_RETURN(const std::vector<std::string> parts, gather(manifest, ranks), what);
  RETURN_IF_ERROR(from_first(
                      [&]() -> absl::StatusOr<std::string> {
                        RETURN_IF_ERROR(commit(parts, metrics, **directory, threads_));
                        return std::string();
                      },
                      ranks)
                      .status(),
                  what);
  remember((*directory)->path());
  return CheckpointInfo{(*directory)->path(), progress};
}

// What a checkpoint of this step may be a delta on.
std::optional<CheckpointManifest::Base> Saver::next_base(const TrainState& state, int64_t step,
                                                         int world_size) const {
  if (options_.max_deltas == 0 || world_size > 1 || !last_.has_value()) return std::nullopt;
  if (last_->depth() > options_.max_deltas || last_->step() >= step) return std::nullopt;
  // When the one under way is there, its retention does not know what this one would need.
  if (!saves_.empty()) return std::nullopt;
  for (const EmbeddingTable* table : state.tables) {
    if (table->evicted_log_begins() <= last_->step()) continue;
    MILLRACE_LOG(INFO) << "a whole checkpoint instead of a delta: table " << table->name()
                       << " does not know any more which ids went since step " << last_->step();
    return std::nullopt;
  }
  // It may have been removed or replaced meanwhile.
  const std::string path = join_path(options_.folder, checkpoint_name(last_->step()));
  const auto base = CheckpointReader::open(files_, path);
  const bool same = base.ok() && (*base)->manifest().digest() == last_->digest();
  return same ? last_ : std::nullopt;
}

// The state goes on from this checkpoint.
void Saver::remember(const std::string& path) {
  last_.reset();
  if (options_.max_deltas == 0 || directory_of(path) != options_.folder) return;
  const auto reader = CheckpointReader::open(files_, path);
  if (!reader.ok()) return;
  const CheckpointManifest& manifest = (*reader)->manifest();
  last_.emplace();
  last_->set_step(manifest.progress().step());
  last_->set_digest(manifest.digest());
  last_->set_depth(manifest.has_base() ? manifest.base().depth() + 1 : 1);
}

SaveWork Saver::work_of(Pending& save, int rank) {
  SaveWork work;
  work.copy = [&save](ThreadPool& threads) {
    RETURN_IF_ERROR(save.directory.status());
    ASSIGN_OR_RETURN(StateWriter writer,
                     StateWriter::create(std::move(save.state), save.options, threads));
    RETURN_IF_ERROR(writer.write(**save.directory, threads));
    save.manifest = writer.manifest();
    return absl::OkStatus();
  };
  work.sync = [&save](ThreadPool& threads) {
    return finish_files(std::move(save.manifest), **save.directory, threads);
  };
  work.commit = [this, &save, rank](const std::vector<std::string>& parts, ThreadPool& threads) {
    return rank == 0 ? commit(parts, save.metrics, **save.directory, threads) : absl::OkStatus();
  };
  return work;
}

absl::Status Saver::begin(const TrainState& state, const std::map<std::string, double>& metrics,
                          Collectives& ranks) {
  if (options_.read_only) return absl::FailedPreconditionError("saving is switched off");
  ASSIGN_OR_RETURN(const Progress progress, from_state(state.shared.progress()));
  if (saves_.size() > 1) RETURN_IF_ERROR(complete_oldest(ranks));
  if (!saves_.empty()) saves_.back()->work->await_copied();
  auto save = std::make_unique<Pending>();
  save->options = {ranks.rank(), ranks.world_size(),
                   next_base(state, progress.step, ranks.world_size())};
  const auto limit =
      static_cast<int64_t>(static_cast<double>(row_bytes(state)) * options_.undo_share);
  save->budget = std::make_shared<UndoBudget>(std::max(limit, kLeastUndoBytes));
  save->state = freeze_state(state, save->budget, threads_);
  const absl::StatusOr<std::string> nonce = make_room(save->state.size_bytes(), ranks);
  RETURN_IF_ERROR(nonce.status(), absl::StrCat("saving step ", progress.step));
  save->directory = CommitDirectory::begin(
      files_, {options_.folder, progress.step, *nonce, ranks.rank(), ranks.world_size()});
  if (save->directory.ok()) save->info.path = (*save->directory)->path();
  save->info.progress = progress;
  save->metrics = metrics;
  save->work =
      std::make_unique<BackgroundSave>(work_of(*save, ranks.rank()), options_.write_threads);
  saves_.push_back(std::move(save));
  return absl::OkStatus();
}

bool Saver::ready() const { return !saves_.empty() && saves_.front()->work->ready(); }

// REQUIRES: the oldest save is ready on all ranks.
absl::Status Saver::advance(Collectives& ranks) {
  Pending& save = *saves_.front();
  BackgroundSave& work = *save.work;
  const std::string what = absl::StrCat("saving step ", save.info.progress.step);
  if (!work.committing()) {
    absl::StatusOr<std::vector<std::string>> parts = gather(work.part(), ranks);
    if (parts.ok()) {
      work.commit(*std::move(parts));
    } else {
      saves_.pop_front();
    }
    return annotate(parts.status(), what);
  }
  const absl::Status outcome = from_first(
                                   [&]() -> absl::StatusOr<std::string> {
                                     RETURN_IF_ERROR(work.outcome());
                                     return std::string();
                                   },
                                   ranks)
                                   .status();
  if (save.budget->waited() > absl::ZeroDuration()) {
    MILLRACE_LOG(WARNING) << what << ": training waited " << save.budget->waited()
                          << " for memory to keep old rows in";
  }
  if (outcome.ok()) {
    durable_.push_back(save.info);
    remember(save.info.path);
  }
  saves_.pop_front();
  return annotate(outcome, what);
}

absl::Status Saver::complete_oldest(Collectives& ranks) {
  const size_t left = saves_.size() - 1;
  while (saves_.size() > left) {
    saves_.front()->work->await_ready();
    RETURN_IF_ERROR(advance(ranks));
  }
  return absl::OkStatus();
}

absl::StatusOr<std::vector<CheckpointInfo>> Saver::poll(bool all_ready, Collectives& ranks) {
  if (all_ready) RETURN_IF_ERROR(advance(ranks));
  return std::exchange(durable_, {});
}

absl::StatusOr<std::vector<CheckpointInfo>> Saver::finish(Collectives& ranks) {
  absl::Status first;
  while (!saves_.empty()) first.Update(complete_oldest(ranks));
  RETURN_IF_ERROR(first);
  return std::exchange(durable_, {});
}

absl::Status Saver::check_job(const CheckpointManifest& manifest) const {
  if (manifest.fingerprint() == options_.fingerprint) return absl::OkStatus();
  TrainConfig then, now;
  std::vector<std::string> lines;
  if (parse_text(manifest.config(), "its configuration", &then).ok() &&
      parse_text(options_.config, "the configuration", &now).ok()) {
    lines = config_differences(then, now);
  }
  return absl::InvalidArgumentError(absl::StrCat(
      "this checkpoint is of another job; go back to its configuration, or begin anew in another "
      "output_dir (train.initialize_from takes its weights along)",
      lines.empty() ? "" : ". What differs, then → now:", in_lines(lines)));
}

absl::StatusOr<FoundCheckpoint> Saver::read(const std::string& path, const TrainState& target) {
  ASSIGN_OR_RETURN(const auto chain, open_chain(files_, path));
  RETURN_IF_ERROR(check_job(chain.back()->manifest()), path);
  FoundCheckpoint found;
  ASSIGN_OR_RETURN(found.state, read_state(chain, target, threads_));
  found.info.path = path;
  ASSIGN_OR_RETURN(found.info.progress, from_state(found.state.shared.progress()), path);
  for (const auto& metric : chain.back()->manifest().metrics()) {
    found.metrics[metric.name()] = metric.value();
  }
  return found;
}

absl::StatusOr<FoundCheckpoint> Saver::restore_from(const std::string& path,
                                                    const TrainState& target, Collectives& ranks) {
  absl::StatusOr<FoundCheckpoint> found = catch_exceptions([&] { return read(path, target); });
  const absl::StatusOr<std::string> own =
      found.ok() ? absl::StatusOr<std::string>(std::string()) : found.status();
  RETURN_IF_ERROR(gather(own, ranks).status());
  remember(found->info.path);
  return found;
}

absl::StatusOr<std::optional<FoundCheckpoint>> Saver::restore(const TrainState& target,
                                                              Collectives& ranks) {
  ASSIGN_OR_RETURN(const std::string listed,
                   from_first(
                       [&]() -> absl::StatusOr<std::string> {
                         // Before it is read: what another run still saves there would be missed.
                         if (files_.info(options_.folder).ok()) RETURN_IF_ERROR(open_folder());
                         ASSIGN_OR_RETURN(const std::vector<ListedCheckpoint> all,
                                          list_checkpoints(files_, options_.folder));
                         std::vector<std::string> paths;
                         for (auto entry = all.rbegin(); entry != all.rend(); ++entry) {
                           paths.push_back(entry->path);
                         }
                         return absl::StrJoin(paths, absl::string_view("\0", 1));
                       },
                       ranks));
  if (listed.empty()) return std::nullopt;
  std::vector<std::string> notes;
  absl::Status newest;   // what is wrong with it
  absl::Status reduced;  // that of one of a model alone
  for (const absl::string_view path : absl::StrSplit(listed, '\0')) {
    absl::StatusOr<FoundCheckpoint> found = restore_from(std::string(path), target, ranks);
    if (found.ok()) {
      found->notes = std::move(notes);
      return std::optional<FoundCheckpoint>(*std::move(found));
    }
    // One that training cannot go on from, since it was reduced, is no damage, nor what is sought.
    if (absl::IsFailedPrecondition(found.status())) {
      reduced.Update(found.status());
      continue;
    }
    newest.Update(found.status());
    if (!is_damage(found.status()) || options_.on_damage == OnDamage::kStrict) break;
    const absl::Status named = name_path(found.status(), path);
    told_.insert(std::string(named.message()));
    notes.push_back(absl::StrCat("passed over: ", named.message()));
  }
  newest.Update(reduced);
  if (!is_damage(newest)) return newest;
  return annotate(
      newest, options_.on_damage == OnDamage::kStrict
                  ? "on_damage is STRICT, and the newest checkpoint is damaged"
                  : absl::StrCat("no checkpoint in ", options_.folder,
                                 " is whole (to begin anew, remove them or choose another "
                                 "output_dir)"));
}

}  // namespace millrace
