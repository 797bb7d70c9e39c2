#include "checkpoint/saver.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "absl/time/time.h"
#include "base/catch_exceptions.h"
#include "base/log.h"
#include "base/status_macros.h"
#include "checkpoint/folder/checkpoint_list.h"
#include "checkpoint/folder/commit_directory.h"
#include "checkpoint/folder/kept_files.h"
#include "checkpoint/folder/referred_files.h"
#include "checkpoint/format/checkpoint_names.h"
#include "checkpoint/format/manifest.h"
#include "checkpoint/saver_check.h"
#include "checkpoint/state/frozen_state.h"
#include "checkpoint/state/save_filter.h"
#include "checkpoint/state/state_messages.h"
#include "distributed/agreed_result.h"

namespace millrace {
namespace {

// While a rank waits for its own save, it looks at this interval whether the job has failed.
constexpr absl::Duration kBetweenLooksAtJob = absl::Milliseconds(200);

// Precedes the nonce, in the message of rank 0 to the others, of a checkpoint that keeps files.
constexpr char kKeepFiles[] = "keep ";

// Makes the files of this rank durable. Returns their manifest, for rank 0.
absl::StatusOr<std::string> finish_files(CheckpointManifest manifest, CommitDirectory& directory,
                                         ThreadPool& threads) {
  ASSIGN_OR_RETURN(const std::vector<CommitDirectory::File> files, directory.finish_files(threads));
  for (const CommitDirectory::File& file : files) *manifest.add_files() = file;
  return manifest.SerializeAsString();
}

}  // namespace

// A save between begin() and its commit.
struct Saver::Pending {
  CheckpointInfo info;
  std::map<std::string, double> metrics;
  StateWriterOptions options;
  std::shared_ptr<UndoBudget> budget;  // shared with the snapshots that `work` reads
  std::unique_ptr<CommitDirectory> directory;
  CheckpointManifest manifest;
  std::unique_ptr<BackgroundSave> work;  // last: its thread uses the others
};

Saver::~Saver() { abandon(); }

void Saver::abandon() {
  for (const std::unique_ptr<Pending>& save : saves_) save->directory->abandon();
}

Saver::Saver(SaverOptions options, FileSystem& files, const Clock& clock)
    : options_(std::move(options)),
      files_(files),
      clock_(clock),
      threads_(options_.write_threads),
      token_(options_.token.empty() ? new_nonce() : options_.token) {}

absl::StatusOr<std::unique_ptr<Saver>> Saver::create(SaverOptions options, FileSystem& files,
                                                     const Clock& clock) {
  CheckpointConfig numbers;
  numbers.set_write_threads(options.write_threads);
  numbers.set_max_deltas(options.max_deltas);
  *numbers.mutable_exclude() = {options.exclude.begin(), options.exclude.end()};
  RETURN_IF_ERROR(check_saver("saver", numbers));
  if (options.folder.empty()) return absl::InvalidArgumentError("no folder for checkpoints");
  if (options.row_filter.filter != nullptr && options.max_deltas > 0) {
    return absl::InvalidArgumentError(
        "row_filter and max_deltas are both given; a delta cannot omit rows of its base");
  }
  RETURN_IF_ERROR(check_retention_policy(options.retention));
  return std::unique_ptr<Saver>(new Saver(std::move(options), files, clock));
}

absl::Status Saver::check(const TrainState& state) const {
  RETURN_IF_ERROR(check_save_filter(state, options_.exclude));
  return check_filtered_tables(state, options_.row_filter);
}

absl::Status Saver::open_folder(bool chooses) {
  const absl::StatusOr<FileInfo> folder = files_.info(options_.folder);
  if (absl::IsFailedPrecondition(folder.status()) || (folder.ok() && !folder->is_directory)) {
    return absl::PermissionDeniedError(
        absl::StrCat("cannot write in ", options_.folder,
                     ": it, or what is above it, is a file and no directory; move that file away "
                     "or choose another output_dir"));
  }
  // The folder and its locks were removed.
  if (opened_ && !options_.read_only && absl::IsNotFound(folder.status())) {
    MILLRACE_LOG(WARNING) << options_.folder << " was removed while this run writes there: it is "
                          << "made again, but what was in it is gone";
    run_lock_.reset();
    lock_.reset();
    opened_ = false;
  }
  if (opened_) {
    if (!options_.run_folder.empty()) {
      RETURN_IF_ERROR(check_owner(files_, options_.run_folder, token_));
    }
    return options_.read_only ? absl::OkStatus() : check_owner(files_, options_.folder, token_);
  }
  std::unique_ptr<DirectoryLock> run_lock, lock;
  if (!options_.run_folder.empty()) {
    ASSIGN_OR_RETURN(run_lock, DirectoryLock::acquire(files_, options_.run_folder, clock_, token_));
  }
  if (!options_.read_only) {
    ASSIGN_OR_RETURN(lock, DirectoryLock::acquire(files_, options_.folder, clock_, token_));
    ASSIGN_OR_RETURN(const std::vector<std::string> done,
                     clean_up(files_, options_.folder, token_));
    for (const std::string& line : done) MILLRACE_LOG(INFO) << line;
    RETURN_IF_ERROR(check_names(files_, options_.folder));
  }
  if (!chooses && (was_missing_ || options_.own_folder)) RETURN_IF_ERROR(check_unchanged());
  run_lock_ = std::move(run_lock);
  lock_ = std::move(lock);
  opened_ = true;
  return absl::OkStatus();
}

// Checks that no other run has saved between reading the folder and locking it.
absl::Status Saver::check_unchanged() const {
  ASSIGN_OR_RETURN(const auto listed, list_checkpoints(files_, options_.folder));
  if (listed.empty() || listed.back().path == restored_) return absl::OkStatus();
  return absl::FailedPreconditionError(
      absl::StrCat("another run has saved ", listed.back().path, " since this run started ",
                   restored_.empty() ? "without a checkpoint" : absl::StrCat("from ", restored_),
                   "; start again to resume from that checkpoint, or choose another output_dir"));
}

absl::Status Saver::open(Collectives& ranks) {
  return result_of_first(
             [&]() -> absl::StatusOr<std::string> {
               RETURN_IF_ERROR(open_folder(/*chooses=*/false));
               return std::string();
             },
             ranks)
      .status();
}

std::string Saver::durable_path(int64_t step) const {
  const std::string path = path_of(step);
  return files_.link_info(path).ok() ? path : "";
}

std::string Saver::path_of(int64_t step) const {
  return join_path(options_.folder, checkpoint_name(step));
}

// Compares the checkpoint of this step in the folder with the new one. `parts`: the serialized
// StateWriter::manifest() of each rank.
absl::StatusOr<Saver::ExistingStep> Saver::find(const std::vector<std::string>& parts) {
  ASSIGN_OR_RETURN(CheckpointManifest manifest, joined_manifest(parts));
  manifest.set_fingerprint(options_.fingerprint);
  manifest.set_world_size(static_cast<int32_t>(parts.size()));
  const std::string path = path_of(manifest.progress().step());
  if (is_saved(files_, path, manifest, threads_)) return ExistingStep{.same = true};
  const auto kept = KeptFiles::open(files_, path);
  return ExistingStep{.kept_bytes = kept.ok() ? (*kept)->expected_bytes(manifest) : 0};
}

// Agrees with all ranks on a checkpoint of `step` of which this rank writes `own`, and checks the
// free space. Rank 0 calls `find` in the open folder with the texts of all ranks. Writes only the
// lock and the directory for the files.
absl::StatusOr<Saver::SavePermit> Saver::permit_save(int64_t step, const absl::StatusOr<Share>& own,
                                                     FindExisting find, Collectives& ranks) {
  const auto packed = own.ok()
                          ? absl::StatusOr<std::string>(absl::StrCat(own->bytes, "\n", own->text))
                          : absl::StatusOr<std::string>(own.status());
  // All ranks must be able to save before rank 0 creates anything, so that a failing rank leaves no
  // directory behind.
  ASSIGN_OR_RETURN(std::vector<std::string> shares, gather_results(packed, ranks));
  const absl::StatusOr<std::string> agreed = result_of_first(
      [&]() -> absl::StatusOr<std::string> {
        int64_t total = 0, size = 0;
        for (std::string& share : shares) {
          const size_t end = share.find('\n');
          total += absl::SimpleAtoi(share.substr(0, end), &size) ? size : 0;
          share.erase(0, end + 1);
        }
        RETURN_IF_ERROR(open_folder(/*chooses=*/false));
        ASSIGN_OR_RETURN(const ExistingStep found, find(shares));
        if (found.same) return std::string();
        RETURN_IF_ERROR(check_free_space(files_, options_.folder, total - found.kept_bytes));
        const std::string nonce = new_nonce();
        RETURN_IF_ERROR(CommitDirectory::make(files_, {options_.folder, step, nonce}));
        return absl::StrCat(found.kept_bytes > 0 ? kKeepFiles : "", nonce);
      },
      ranks);
  RETURN_IF_ERROR(agreed.status());
  // One text carries both the nonce and whether ranks keep files, which saves an exchange.
  absl::string_view nonce = *agreed;
  const bool keep_files = absl::ConsumePrefix(&nonce, kKeepFiles);
  return SavePermit{std::string(nonce), keep_files};
}

// `parts`: the manifests of all ranks.
absl::Status Saver::commit(const std::vector<std::string>& parts,
                           const std::map<std::string, double>& metrics, CommitDirectory& directory,
                           ThreadPool& threads) {
  ASSIGN_OR_RETURN(CheckpointManifest manifest, joined_manifest(parts));
  manifest.set_producer(options_.producer);
  if (lock_->generation() > 0) {
    manifest.set_producer(
        absl::StrCat(options_.producer, ", run ", token_, ", generation ", lock_->generation()));
  }
  manifest.set_created(absl::FormatTime(absl::RFC3339_sec, clock_.now(), absl::UTCTimeZone()));
  manifest.set_fingerprint(options_.fingerprint);
  manifest.set_config(options_.config);
  add_referred_files(options_.vocabularies, &manifest);
  for (const auto& [name, value] : metrics) {
    CheckpointManifest::Metric* metric = manifest.add_metrics();
    metric->set_name(name);
    metric->set_value(value);
  }
  const int64_t step = manifest.progress().step();
  RETURN_IF_ERROR(directory.commit(std::move(manifest), threads).status());
  unusable_.erase(directory.path());
  return retain(step, threads);
}

absl::Status Saver::retain(int64_t saved, ThreadPool& threads) {
  const absl::StatusOr<RetentionResult> result =
      apply_retention(files_, options_.folder, options_.retention, Check::kQuick, threads, saved,
                      unusable_, token_);
  if (!result.ok()) {
    MILLRACE_LOG(WARNING) << "old checkpoints stay: " << result.status().message();
    return absl::IsAborted(result.status()) ? result.status() : absl::OkStatus();
  }
  for (const absl::Status& status : result->damaged) {
    const std::string line(status.message());
    if (!logged_.insert(line).second) continue;
    MILLRACE_LOG(WARNING) << "retained, but no run can resume from it: " << line;
  }
  return absl::OkStatus();
}

absl::StatusOr<CheckpointInfo> Saver::save(const TrainState& whole,
                                           const std::map<std::string, double>& metrics,
                                           Collectives& ranks) {
  if (options_.read_only) return absl::FailedPreconditionError("saving is switched off");
  const TrainState state = filter_state(whole, options_.exclude);
  ASSIGN_OR_RETURN(const Progress progress, from_state(state.shared.progress()));
  const std::string what = absl::StrCat("saving step ", progress.step);
  ASSIGN_OR_RETURN(const StateWriterOptions writer_options,
                   agree_on_options(state, progress.step, ranks), what);
  absl::StatusOr<StateWriter> writer = catch_exceptions([&] {
    FrozenState view = view_state(state);
    select_rows(options_.row_filter, &view, threads_);
    return StateWriter::create(std::move(view), writer_options, threads_);
  });
  // A rank that failed reports its failure in the exchange of sizes.
  const absl::StatusOr<Share> own =
      writer.ok()
          ? absl::StatusOr<Share>({writer->size_bytes(), writer->manifest().SerializeAsString()})
          : writer.status();
  ASSIGN_OR_RETURN(const SavePermit permit,
                   permit_save(
                       progress.step, own,
                       [&](const std::vector<std::string>& parts) { return find(parts); }, ranks),
                   what);
  const CheckpointInfo info = {path_of(progress.step), progress};
  if (permit.nonce.empty()) {
    // The ranks have agreed already; a folder lost since then fails the next save.
    if (ranks.rank() == 0) retain(progress.step, threads_).IgnoreError();
  } else {
    RETURN_IF_ERROR(write({options_.folder, progress.step, permit.nonce, ranks.rank(),
                           ranks.world_size(), permit.keep_files, token_},
                          *writer, metrics, ranks),
                    what);
  }
  remember(info.path);
  return info;
}

absl::Status Saver::write(const CommitOptions& options, StateWriter& writer,
                          const std::map<std::string, double>& metrics, Collectives& ranks) {
  std::unique_ptr<CommitDirectory> directory;
  const absl::StatusOr<std::string> manifest =
      catch_exceptions([&]() -> absl::StatusOr<std::string> {
        ASSIGN_OR_RETURN(directory, CommitDirectory::begin(files_, options));
        RETURN_IF_ERROR(writer.write(*directory, threads_));
        return finish_files(writer.manifest(), *directory, threads_);
      });
  ASSIGN_OR_RETURN(const std::vector<std::string> parts, gather_results(manifest, ranks));
  return result_of_first(
             [&]() -> absl::StatusOr<std::string> {
               RETURN_IF_ERROR(commit(parts, metrics, *directory, threads_));
               return std::string();
             },
             ranks)
      .status();
}

// Agrees with all ranks on how a step is saved: as a delta if all ranks propose the same base, and
// with files of tables by the size of the whole tables.
absl::StatusOr<StateWriterOptions> Saver::agree_on_options(const TrainState& state, int64_t step,
                                                           Collectives& ranks) const {
  CheckpointManifest own;
  const absl::StatusOr<std::string> proposal =
      catch_exceptions([&]() -> absl::StatusOr<std::string> {
        const std::optional<CheckpointManifest::Base> base = next_base(state, step);
        if (base.has_value()) *own.mutable_base() = *base;
        for (const EmbeddingTable* table : state.tables) {
          own.add_tables()->set_rows(table->rows());
        }
        return own.SerializeAsString();
      });
  ASSIGN_OR_RETURN(const std::vector<std::string> all, gather_results(proposal, ranks));
  StateWriterOptions options = {ranks.rank(), ranks.world_size()};
  if (own.has_base()) options.base = own.base();
  std::vector<int64_t> rows(state.tables.size());
  for (const std::string& text : all) {
    CheckpointManifest one;
    if (!one.ParseFromString(text) || one.tables_size() != own.tables_size()) {
      return absl::InternalError("another rank has other tables");
    }
    // A checkpoint has one base, so ranks with different bases write a whole checkpoint.
    const bool same = one.has_base() == own.has_base() &&
                      one.base().SerializeAsString() == own.base().SerializeAsString();
    if (!same && options.base.has_value()) {
      MILLRACE_LOG(INFO) << "a whole checkpoint instead of a delta: another rank has no base, or "
                            "another one";
      options.base.reset();
    }
    for (size_t t = 0; t < rows.size(); ++t) rows[t] += one.tables(static_cast<int>(t)).rows();
  }
  // Ranks number their files by one rule, so the number follows from the rows of all ranks.
  for (size_t t = 0; t < rows.size(); ++t) {
    const int64_t row_bytes = state.tables[t]->layout().content_bytes() + kRowStateBytes;
    options.table_files.push_back(
        files_of_rank(rows[t] * row_bytes, options.world_size, options_.file_bytes));
  }
  return options;
}

// Returns the base that this rank proposes for a delta of this step, or none for a whole
// checkpoint.
std::optional<CheckpointManifest::Base> Saver::next_base(const TrainState& state,
                                                         int64_t step) const {
  if (options_.max_deltas == 0 || !last_.has_value()) return std::nullopt;
  // A step that is saved again keeps its base.
  const auto& base = last_->self.step() == step ? last_->base : std::optional(last_->self);
  if (!base.has_value() || base->depth() > options_.max_deltas || base->step() >= step) {
    return std::nullopt;
  }
  // A delta cannot supply a tensor that its base omits, so both must omit the same tensors.
  if (last_->left_out != state.left_out) return std::nullopt;
  // The retention of a save under way would not spare the base of this delta.
  if (!saves_.empty()) return std::nullopt;
  for (const EmbeddingTable* table : state.tables) {
    if (table->content().evicted_log_begins() <= base->step()) continue;
    MILLRACE_LOG(INFO) << "a whole checkpoint instead of a delta: table " << table->name()
                       << " does not know any more which ids went since step " << base->step();
    return std::nullopt;
  }
  // Another process may have removed or replaced the base.
  const std::string path = path_of(base->step());
  const auto reader = CheckpointReader::open(files_, path);
  const bool same = reader.ok() && (*reader)->manifest().digest() == base->digest();
  return same ? base : std::nullopt;
}

// Makes the checkpoint at `path` the base of the next delta.
void Saver::remember(const std::string& path) {
  last_.reset();
  if (options_.max_deltas == 0 || directory_of(path) != options_.folder) return;
  const auto reader = CheckpointReader::open(files_, path);
  if (!reader.ok()) return;
  const CheckpointManifest& manifest = (*reader)->manifest();
  last_.emplace();
  last_->self.set_step(manifest.progress().step());
  last_->self.set_digest(manifest.digest());
  last_->self.set_depth(manifest.has_base() ? manifest.base().depth() + 1 : 1);
  if (manifest.has_base()) last_->base = manifest.base();
  last_->left_out = {manifest.left_out().begin(), manifest.left_out().end()};
}

// Returns the work of a save. Releases `state` once it is copied or copying fails, so that a failed
// save freezes no table.
SaveWork Saver::work_of(Pending& save, FrozenState state, int rank) {
  SaveWork work;
  const auto frozen = std::make_shared<FrozenState>(std::move(state));  // std::function copies
  work.copy = [&save, frozen](ThreadPool& threads) {
    ASSIGN_OR_RETURN(StateWriter writer,
                     StateWriter::create(std::move(*frozen), save.options, threads));
    save.manifest = writer.manifest();
    return writer.write(*save.directory, threads);
  };
  work.sync = [&save](ThreadPool& threads) {
    return finish_files(std::move(save.manifest), *save.directory, threads);
  };
  work.commit = [this, &save, rank](const std::vector<std::string>& parts, ThreadPool& threads) {
    return rank == 0 ? commit(parts, save.metrics, *save.directory, threads) : absl::OkStatus();
  };
  return work;
}

absl::Status Saver::begin(const TrainState& whole, const std::map<std::string, double>& metrics,
                          Collectives& ranks) {
  if (options_.read_only) return absl::FailedPreconditionError("saving is switched off");
  if (!options_.asynchronous) return save_at_once(whole, metrics, ranks);
  const TrainState state = filter_state(whole, options_.exclude);
  ASSIGN_OR_RETURN(const Progress progress, from_state(state.shared.progress()));
  if (saves_.size() > 1) RETURN_IF_ERROR(complete_oldest(ranks));
  // A second save of a step is compared with the first, which must be complete.
  while (!saves_.empty() && saves_.back()->info.progress.step == progress.step) {
    RETURN_IF_ERROR(complete_oldest(ranks));
  }
  if (!saves_.empty()) {
    const BackgroundSave& last = *saves_.back()->work;
    RETURN_IF_ERROR(await_save([&] { return last.await_copied(kBetweenLooksAtJob); }, ranks));
  }
  const std::string what = absl::StrCat("saving step ", progress.step);
  auto save = std::make_unique<Pending>();
  ASSIGN_OR_RETURN(save->options, agree_on_options(state, progress.step, ranks), what);
  const auto limit =
      static_cast<int64_t>(static_cast<double>(row_bytes(state)) * options_.undo_share);
  save->budget = std::make_shared<UndoBudget>(std::max(limit, options_.least_undo_bytes),
                                              Clock::real(), waits_);
  save->info = {path_of(progress.step), progress};
  save->metrics = metrics;
  absl::StatusOr<FrozenState> frozen = catch_exceptions([&]() -> absl::StatusOr<FrozenState> {
    ASSIGN_OR_RETURN(FrozenState made, freeze_state(state, save->budget, threads_));
    select_rows(options_.row_filter, &made, threads_);
    return made;
  });
  const absl::StatusOr<Share> own =
      frozen.ok() ? absl::StatusOr<Share>({frozen->size_bytes(), ""}) : frozen.status();
  const auto find = [&](const std::vector<std::string>&) -> absl::StatusOr<ExistingStep> {
    return ExistingStep{.same =
                            files_.link_info(save->info.path).ok()};  // compared in save_at_once
  };
  ASSIGN_OR_RETURN(const SavePermit permit, permit_save(progress.step, own, find, ranks), what);
  if (permit.nonce.empty()) {
    frozen = absl::CancelledError();  // released
    return save_at_once(whole, metrics, ranks);
  }
  // The last operation of begin() that can fail. All ranks exchange its result: after a failure of
  // one rank, all ranks release their tables.
  const absl::StatusOr<std::string> begun = catch_exceptions([&]() -> absl::StatusOr<std::string> {
    ASSIGN_OR_RETURN(
        save->directory,
        CommitDirectory::begin(files_, {options_.folder, progress.step, permit.nonce, ranks.rank(),
                                        ranks.world_size(), /*keep_files=*/false, token_}));
    save->work = std::make_unique<BackgroundSave>(work_of(*save, *std::move(frozen), ranks.rank()),
                                                  options_.write_threads);
    return std::string();
  });
  RETURN_IF_ERROR(gather_results(begun, ranks).status(), what);
  saves_.push_back(std::move(save));
  return absl::OkStatus();
}

// Saves on this thread and keeps the checkpoint for finish(). Compares an existing checkpoint of
// the step with the files of all ranks and writes a new checkpoint only if any file differs.
absl::Status Saver::save_at_once(const TrainState& whole,
                                 const std::map<std::string, double>& metrics, Collectives& ranks) {
  while (!saves_.empty()) RETURN_IF_ERROR(complete_oldest(ranks));
  absl::StatusOr<CheckpointInfo> info = save(whole, metrics, ranks);
  if (were_removed({options_.folder}, info.status(), ranks)) info = save(whole, metrics, ranks);
  RETURN_IF_ERROR(info.status());
  durable_.push_back(*std::move(info));
  return absl::OkStatus();
}

// Returns true on all ranks if a save failed with `failure` since none of `paths` exists on rank 0.
// REQUIRES: all ranks pass the same failure.
bool Saver::were_removed(const std::vector<std::string>& paths, const absl::Status& failure,
                         Collectives& ranks) {
  // The error of writing to a missing directory. Other errors, such as a lost rank, allow no
  // exchange.
  if (!absl::IsPermissionDenied(failure)) return false;
  const absl::StatusOr<std::string> removed = result_of_first(
      [&]() -> absl::StatusOr<std::string> {
        const bool all = std::all_of(paths.begin(), paths.end(), [&](const std::string& path) {
          return absl::IsNotFound(files_.link_info(path).status());
        });
        if (all) {
          MILLRACE_LOG(WARNING) << paths[0] << " was removed or moved during a save; the next save "
                                << "makes the directory again";
        }
        return std::string(all ? "removed" : "");
      },
      ranks);
  return removed.ok() && !removed->empty();
}

bool Saver::ready() const { return !saves_.empty() && saves_.front()->work->ready(); }

// Moves the oldest save to its next stage. REQUIRES: this save is ready on all ranks.
absl::Status Saver::advance(Collectives& ranks) {
  Pending& save = *saves_.front();
  BackgroundSave& work = *save.work;
  if (!work.committing()) {
    // The commit lists the files of all ranks in one manifest, so it needs the parts of all ranks.
    absl::StatusOr<std::vector<std::string>> parts = gather_results(work.part(), ranks);
    if (!parts.ok()) return end_failed(parts.status(), ranks);
    work.commit(*std::move(parts));
    return absl::OkStatus();
  }
  // Only rank 0 knows if the commit succeeded.
  const absl::Status outcome = result_of_first(
                                   [&]() -> absl::StatusOr<std::string> {
                                     RETURN_IF_ERROR(work.outcome());
                                     return std::string();
                                   },
                                   ranks)
                                   .status();
  if (save.budget->waited() > absl::ZeroDuration()) {
    MILLRACE_LOG(WARNING) << "saving step " << save.info.progress.step << ": training waited "
                          << save.budget->waited() << " for memory to keep old rows in";
  }
  if (!outcome.ok()) return end_failed(outcome, ranks);
  durable_.push_back(save.info);
  remember(save.info.path);
  saves_.pop_front();
  return absl::OkStatus();
}

// Ends the oldest save, which failed. Returns the failure, or OK if the files were removed: their
// state is not in memory any more.
absl::Status Saver::end_failed(const absl::Status& failure, Collectives& ranks) {
  const std::unique_ptr<Pending> save = std::move(saves_.front());
  saves_.pop_front();
  const CommitDirectory& files = *save->directory;
  if (were_removed({files.temporary(), files.path()}, failure, ranks)) return absl::OkStatus();
  return annotate(failure, absl::StrCat("saving step ", save->info.progress.step));
}

// Calls `await` until it returns true. Errors: the failure of the job, after which the wait for a
// disk that hangs must not keep the rank.
absl::Status Saver::await_save(absl::FunctionRef<bool()> await, Collectives& ranks) const {
  while (!await()) RETURN_IF_ERROR(ranks.failure());
  return absl::OkStatus();
}

absl::Status Saver::complete_oldest(Collectives& ranks) {
  const size_t left = saves_.size() - 1;
  while (saves_.size() > left) {
    const BackgroundSave& work = *saves_.front()->work;
    RETURN_IF_ERROR(await_save([&] { return work.await_ready(kBetweenLooksAtJob); }, ranks));
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
  while (!saves_.empty()) {
    RETURN_IF_ERROR(ranks.failure());
    first.Update(complete_oldest(ranks));
  }
  RETURN_IF_ERROR(first);
  return std::exchange(durable_, {});
}

}  // namespace millrace
