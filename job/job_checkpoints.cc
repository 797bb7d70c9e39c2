#include "job/job_checkpoints.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/time/time.h"
#include "base/catch_exceptions.h"
#include "base/log.h"
#include "base/status_macros.h"
#include "base/thread_pool.h"
#include "checkpoint/folder/checkpoint_list.h"
#include "checkpoint/folder/checkpoint_path.h"
#include "checkpoint/folder/referred_files.h"
#include "checkpoint/format/checkpoint_names.h"
#include "checkpoint/format/manifest.h"
#include "checkpoint/format/name_path.h"
#include "checkpoint/objects/object_files.h"
#include "checkpoint/saver.h"
#include "checkpoint/state/placed_rows.h"
#include "checkpoint/state/state_messages.h"
#include "distributed/agreed_result.h"
#include "framework/trainer.h"
#include "io/data_identity.h"
#include "job/data_report.h"
#include "job/output_hook.h"
#include "proto/config_fingerprint.h"
#include "proto/config_reader.h"
#include "proto/split_bounds.h"

namespace millrace {
namespace {

constexpr char kAuto[] = "auto";
constexpr char kNever[] = "never";
constexpr int kReadThreads = 4;

RetentionPolicy retention_of(const CheckpointConfig& config) {
  RetentionPolicy policy;
  policy.keep_last = config.keep_last();
  policy.keep_every = config.keep_every();
  if (config.full_last() > 0) policy.full_last = config.full_last();
  for (const CheckpointConfig::Best& best : config.keep_best()) {
    policy.keep_best.push_back({best.metric(), best.count(), best.higher_is_better()});
  }
  return policy;
}

// Checks that a new run, begun for `reason`, can use the folder.
absl::Status check_unused(FileSystem& files, const std::string& folder, absl::string_view reason) {
  ASSIGN_OR_RETURN(const std::vector<ListedCheckpoint> listed, list_checkpoints(files, folder));
  if (listed.empty()) return absl::OkStatus();
  return absl::FailedPreconditionError(
      absl::StrCat("this run would be a new one, since ", reason, ", but ", folder,
                   " has checkpoints, the newest of step ", listed.back().step,
                   "; resume from it with --resume=auto and run.checkpoint.enabled=true, choose "
                   "another output_dir, or remove them"));
}

// Checks that a run can resume from `path` in the folder.
absl::Status check_place(FileSystem& files, const std::string& folder, const std::string& path) {
  ASSIGN_OR_RETURN(const std::vector<ListedCheckpoint> listed, list_checkpoints(files, folder));
  if (listed.empty() || path == listed.back().path || path == folder) return absl::OkStatus();
  return absl::FailedPreconditionError(
      absl::StrCat("cannot resume from ", path, " in this output_dir: ", folder,
                   " has checkpoints of its own, the newest of step ", listed.back().step,
                   "; omit --resume to resume from those, or choose another output_dir"));
}

void log_resumption(const CheckpointInfo& info, const TrainConfig& config) {
  MILLRACE_LOG(INFO) << "resuming from " << info.path << ": step " << info.progress.step << ", "
                     << info.progress.examples << " examples";
  if (config.has_initialize_from() || config.has_model_bank()) {
    MILLRACE_LOG(INFO) << "what training began with (train."
                       << (config.has_model_bank() ? "model_bank" : "initialize_from")
                       << ") is not loaded again, but for dynamic sources and what was not saved";
  }
}

// Returns the frozen tables that have no rows on any rank. Only loading gives them rows. All ranks
// call this function.
absl::StatusOr<std::vector<std::string>> frozen_tables_without_rows(const TrainConfig& config,
                                                                    Trainer& trainer) {
  std::vector<std::string> empty;
  for (const TableConfig& table : config.table()) {
    if (table.frozen()) empty.push_back(table.name());
  }
  if (empty.empty()) return empty;
  ASSIGN_OR_RETURN(const auto rows, trainer.count_rows());
  std::erase_if(empty, [&](const std::string& table) {
    const auto found = rows.find(table);
    return found == rows.end() || found->second > 0;
  });
  return empty;
}

// Returns the checkpoint at `path`, or the checkpoints of a folder, newest first. Errors: NotFound.
absl::StatusOr<std::string> list_candidates(FileSystem& files, const std::string& path) {
  ASSIGN_OR_RETURN(const CheckpointPath place, resolve_checkpoint_path(files, path));
  if (place.is_checkpoint) return place.path;
  ASSIGN_OR_RETURN(const std::vector<ListedCheckpoint> all, list_checkpoints(files, place.path));
  if (all.empty()) {
    return absl::NotFoundError(absl::StrCat("there is no checkpoint in ", place.path));
  }
  return absl::StrJoin(newest_first(all), absl::string_view("\0", 1));
}

// Opens a checkpoint on all ranks, like open_checkpoint: rank 0 lists the checkpoints, and all
// ranks use the newest that all can read. `read` fills `loaded`.
absl::StatusOr<NewestCheckpoint> open_on_ranks(FileSystem& files, const std::string& path,
                                               const UseChain& read, const LoadedState& loaded,
                                               Collectives& ranks) {
  ASSIGN_OR_RETURN(const std::vector<std::string> given, gather_results(path, ranks));
  for (size_t rank = 1; rank < given.size(); ++rank) {
    if (given[rank] == given[0]) continue;
    return absl::InvalidArgumentError(absl::StrCat("rank ", rank, " is to load ", given[rank],
                                                   ", rank 0 ", given[0],
                                                   "; all ranks load the same checkpoint"));
  }
  ranks.set_phase(RankPhase::kCheckpoint, 0);  // the others wait while this rank reads
  ASSIGN_OR_RETURN(const std::string listed,
                   result_of_first([&] { return list_candidates(files, path); }, ranks));
  const std::vector<std::string> paths = absl::StrSplit(listed, '\0');
  NewestCheckpoint newest;
  const auto try_one = [&](size_t i) -> absl::StatusOr<bool> {
    const absl::Status own = catch_exceptions([&]() -> absl::Status {
      ASSIGN_OR_RETURN(newest.chain, open_chain(files, paths[i]));
      return read(newest.chain);
    });
    RETURN_IF_ERROR(agree_on_loading(own, own.ok() ? newest.chain.back()->manifest().digest() : "",
                                     loaded.rows, ranks));
    return true;
  };
  ASSIGN_OR_RETURN(const NewestSearch search, search_newest(paths, OnDamage::kFallback, try_one));
  ranks.set_phase(RankPhase::kStart, 0);
  if (!search.found.has_value()) return search.damaged.front();
  newest.damaged = search.damaged;
  return newest;
}

// Warns of evaluation sets that read files that the model of a checkpoint was trained on.
void warn_of_trained_files(FileSystem& files, const CheckpointReader& checkpoint,
                           const DataReport& report, const TrainConfig& config) {
  const CheckpointManifest& manifest = checkpoint.manifest();
  TrainConfig training;
  if (!has_part(manifest, CheckpointManifest::RANK_STATE) ||
      !parse_text(manifest.config(), "config", &training).ok())
    return;
  const absl::StatusOr<RankStates> states = read_rank_states(checkpoint);
  if (!states.ok()) return;  // only training needs them
  for (const std::string& warning :
       trained_file_warnings(files, states->shared.train_data(), training, report, config)) {
    MILLRACE_LOG(WARNING) << warning;
  }
}

std::string without_slashes(std::string folder) {
  while (folder.size() > 1 && folder.back() == '/') folder.pop_back();
  return folder;
}

// A model is usable only if it is complete.
absl::Status load_what_is_missing(const CheckpointManifest& manifest, Trainer& trainer) {
  const std::vector<std::string> left_out(manifest.left_out().begin(), manifest.left_out().end());
  ASSIGN_OR_RETURN(const std::vector<std::string> missing,
                   trainer.load_left_out(left_out, manifest.referred_files()));
  if (missing.empty()) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("saved without ", absl::StrJoin(missing, ", "),
                   " (run.checkpoint.exclude), and train.model_bank does not give them"));
}

}  // namespace

std::string checkpoint_folder(const RunConfig& run) {
  const std::string folder = without_slashes(run.places().checkpoints());
  return folder.empty() ? join_path(run.output_dir(), kCheckpointsFolder) : folder;
}

std::string published_folder(const RunConfig& run) {
  const std::string folder = without_slashes(run.places().published());
  return folder.empty() ? join_path(run.output_dir(), kPublishedFolder) : folder;
}

Cadence checkpoint_cadence(const CheckpointConfig& config) {
  if (config.has_when()) return Cadence::from_config(config.when());
  return {.every_steps = 1000, .every_windows = 1};
}

absl::StatusOr<std::unique_ptr<StateSaver>> create_saver(const JobConfig& config, FileSystem& files,
                                                         const Clock& clock,
                                                         const std::string& token) {
  const CheckpointConfig& checkpoint = config.run().checkpoint();
  const std::string& resume = config.run().resume();
  auto* const objects = dynamic_cast<ObjectFiles*>(&files);
  if (objects != nullptr) {
    objects->set_lease(absl::Seconds(config.run().places().lease_seconds()));
  }
  SaverOptions options;
  options.folder = checkpoint_folder(config.run());
  options.run_folder = config.run().output_dir();
  options.token = token;
  options.write_threads = checkpoint.write_threads();
  options.on_damage =
      checkpoint.on_damage() == CheckpointConfig::STRICT ? OnDamage::kStrict : OnDamage::kFallback;
  options.read_only = !checkpoint.enabled();
  options.own_folder = resume != kAuto || !checkpoint.enabled();
  options.max_deltas = checkpoint.max_deltas();
  options.asynchronous = checkpoint.asynchronous();
  options.exclude = {checkpoint.exclude().begin(), checkpoint.exclude().end()};
  if (checkpoint.has_row_filter()) {
    ASSIGN_OR_RETURN(options.row_filter, create_row_filter(checkpoint.row_filter()),
                     "run.checkpoint");
  }
  // A changed vocabulary would give words the rows of other words, so checkpoints record digests.
  ASSIGN_OR_RETURN(options.vocabularies, find_vocabularies(config.train(), files));
  options.retention = retention_of(checkpoint);
  options.producer = "millrace train";
  options.fingerprint = config_fingerprint(config.train());
  options.config = to_text(config.train());
  options.accept_changes = config.run().accept_changes();
  ASSIGN_OR_RETURN(std::unique_ptr<StateSaver> saver,
                   Saver::create(std::move(options), files, clock), "run.checkpoint");
  return saver;
}

absl::StatusOr<int64_t> oldest_window_count(FileSystem& files, const std::string& folder) {
  ASSIGN_OR_RETURN(const std::vector<ListedCheckpoint> listed, list_checkpoints(files, folder));
  int64_t oldest = -1;
  for (const ListedCheckpoint& checkpoint : listed) {
    if (checkpoint.reader == nullptr) continue;
    const int64_t windows = checkpoint.reader->manifest().progress().window();
    oldest = oldest < 0 ? windows : std::min(oldest, windows);
  }
  return std::max<int64_t>(0, oldest);
}

SavedDataRules read_saved_data_rules(FileSystem& files, const std::string& path) {
  SavedDataRules rules;
  if (path.empty()) return rules;
  const UseChain read = [&](CheckpointChain chain) -> absl::Status {
    const CheckpointManifest& manifest = chain.back()->manifest();
    rules = {};
    if (has_part(manifest, CheckpointManifest::RANK_STATE)) {
      ASSIGN_OR_RETURN(const RankStates states, read_rank_states(*chain.back()));
      rules.data = states.shared.train_data();
      rules.time_types = time_types_of(rules.data.column());
    }
    TrainConfig train;
    if (parse_text(manifest.config(), "config", &train).ok()) rules.train = std::move(train);
    return absl::OkStatus();
  };
  if (!open_checkpoint(files, path, read).ok()) return {};
  return rules;
}

void keep_split_rule(const SavedDataRules& saved, bool print, TrainConfig* train) {
  if (!saved.train.has_value() || !splits_by_example(*train)) return;
  const TrainConfig::SplitRule rule = saved.train->split_rule();
  if (!splits_by_example(*saved.train) || rule == train->split_rule()) return;
  train->set_split_rule(rule);
  if (!print) return;
  MILLRACE_LOG(WARNING) << "train.split_rule is " << TrainConfig::SplitRule_Name(rule)
                        << ", as in the checkpoint, so that each example keeps its part";
}

bool is_file_of_training(FileSystem& files, const std::string& checkpoint,
                         const std::string& path) {
  const absl::StatusOr<FileInfo> info = files.info(path);
  if (!info.ok() || info->kind != FileKind::kRegular || info->size_bytes == 0) return false;
  const absl::StatusOr<DataIdentity> identity = data_identity(files, {path});
  if (!identity.ok()) return false;
  const DataIdentity::File& file = identity->file(0);
  const DataIdentity trained = read_saved_data_rules(files, checkpoint).data;
  return std::any_of(trained.file().begin(), trained.file().end(), [&](const auto& other) {
    return other.size() == file.size() && other.end_digest() == file.end_digest();
  });
}

std::string resumed_path(const RunConfig& run) {
  if (run.resume() == kNever) return "";
  return run.resume() == kAuto ? checkpoint_folder(run) : run.resume();
}

absl::StatusOr<Resumption> resume_training(const JobConfig& config, FileSystem& files,
                                           Trainer& trainer, bool print) {
  const std::string& resume = config.run().resume();
  const std::string folder = checkpoint_folder(config.run());
  Resumption resumption;
  std::vector<std::string> notes;
  RETURN_IF_ERROR(check_output_directory(files, config.run()));
  if (resume == kNever) {
    RETURN_IF_ERROR(check_unused(files, folder, "run.resume is never"));
  } else if (resume == kAuto && !config.run().checkpoint().enabled()) {
    // The run would write outputs next to checkpoints that it neither reads nor continues.
    RETURN_IF_ERROR(check_unused(files, folder, "run.checkpoint.enabled is false"));
  } else if (resume == kAuto) {
    ASSIGN_OR_RETURN(resumption.from, trainer.resume(&notes));
  } else {
    ASSIGN_OR_RETURN(const CheckpointPath place, resolve_checkpoint_path(files, resume),
                     "run.resume (auto, never or the path of a checkpoint)");
    RETURN_IF_ERROR(check_place(files, folder, place.path));
    ASSIGN_OR_RETURN(resumption.from, trainer.resume_from(place.path, &notes));
  }
  // A checkpoint already contains the content that the model bank gave.
  if (!resumption.from.has_value()) {
    const bool short_form = config.train().has_initialize_from();
    RETURN_IF_ERROR(trainer.load_model_bank(&notes),
                    short_form ? "train.initialize_from" : "train.model_bank");
  }
  resumption.finished = trainer.finished();
  std::vector<std::string> empty;
  // A finished run trains no more, so its tables need no rows.
  if (!resumption.finished.has_value()) {
    ASSIGN_OR_RETURN(empty, frozen_tables_without_rows(config.train(), trainer));
  }
  if (!print) return resumption;
  for (const std::string& note : notes) MILLRACE_LOG(WARNING) << note;
  if (resumption.finished.has_value()) return resumption;
  if (resumption.from.has_value()) log_resumption(*resumption.from, config.train());
  for (const std::string& table : empty) {
    MILLRACE_LOG(WARNING) << "table " << table
                          << " is frozen and has no rows: every id of it reads default_value; "
                             "give it rows with train.model_bank";
  }
  return resumption;
}

ModelWeights default_weights(const TrainConfig& train) {
  return train.has_moving_average() && train.moving_average().evaluate() ? ModelWeights::kAverage
                                                                         : ModelWeights::kTrained;
}

absl::StatusOr<LoadedModel> load_model(const TrainConfig& train, FileSystem& files,
                                       const std::string& path, ModelWeights weights,
                                       Trainer& trainer, bool print, Collectives* ranks,
                                       const DataReport* data) {
  ThreadPool threads(kReadThreads);
  ASSIGN_OR_RETURN(const auto vocabularies, find_vocabularies(train, files));
  LoadedModel model;
  RETURN_IF_ERROR(catch_exceptions("loading the model", [&]() -> absl::Status {
    ASSIGN_OR_RETURN(TrainState target, trainer.capture());
    // Neither evaluation nor prediction uses the state of optimizers, so none of it is read.
    target.dense_optimizers.clear();
    target.average = nullptr;
    LoadedState loaded;
    const UseChain read = [&](CheckpointChain chain) -> absl::Status {
      const CheckpointManifest& manifest = chain.back()->manifest();
      // These checks precede the rows, whose reading may take minutes.
      RETURN_IF_ERROR(
          name_path(check_vocabularies(manifest, vocabularies), chain.back()->directory()));
      if (data != nullptr) {
        RETURN_IF_ERROR(name_path(check_hashed_columns(manifest.train_columns(), *data),
                                  chain.back()->directory()));
      }
      ASSIGN_OR_RETURN(loaded, read_model(chain, target, threads, weights));
      return absl::OkStatus();
    };
    ASSIGN_OR_RETURN(const NewestCheckpoint found,
                     ranks != nullptr && ranks->world_size() > 1
                         ? open_on_ranks(files, path, read, loaded, *ranks)
                         : open_checkpoint(files, path, read));
    RETURN_IF_ERROR(put_state(target, /*rank=*/0, /*world_size=*/1, loaded));
    model.path = found.chain.back()->directory();
    RETURN_IF_ERROR(
        name_path(load_what_is_missing(found.chain.back()->manifest(), trainer), model.path));
    model.progress = from_manifest(found.chain.back()->manifest().progress());
    if (print && data != nullptr) warn_of_trained_files(files, *found.chain.back(), *data, train);
    for (const absl::Status& status : found.damaged) {
      if (print) MILLRACE_LOG(WARNING) << "passed over: " << status.message();
    }
    return absl::OkStatus();
  }));
  if (print) {
    MILLRACE_LOG(INFO) << "loaded " << model.path << ": step " << model.progress.step << ", "
                       << model.progress.examples << " examples"
                       << (weights == ModelWeights::kAverage
                               ? "; dense weights are their moving averages"
                               : "");
  }
  return model;
}

}  // namespace millrace
