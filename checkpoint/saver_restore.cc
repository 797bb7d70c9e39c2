// The part of Saver that finds and reads the checkpoint to resume from.
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "base/catch_exceptions.h"
#include "base/status_macros.h"
#include "checkpoint/folder/checkpoint_list.h"
#include "checkpoint/folder/checkpoint_path.h"
#include "checkpoint/folder/referred_files.h"
#include "checkpoint/saver.h"
#include "checkpoint/state/placed_rows.h"
#include "checkpoint/state/state_messages.h"
#include "checkpoint/state/state_reader.h"
#include "distributed/agreed_result.h"
#include "proto/config.pb.h"
#include "proto/config_fingerprint.h"
#include "proto/config_reader.h"

namespace millrace {
namespace {

// Some threads work while others wait for the disk.
constexpr int kReadersForWriter = 4;

constexpr absl::string_view kBetweenPaths("\0", 1);

constexpr size_t kMostDifferences = 20;  // maximum number in an error

// Returns a line per difference, at most the first kMostDifferences.
std::string in_lines(const std::vector<std::string>& differences) {
  std::string text;
  for (size_t i = 0; i < differences.size() && i < kMostDifferences; ++i) {
    absl::StrAppend(&text, "\n  ", differences[i]);
  }
  if (differences.size() <= kMostDifferences) return text;
  return absl::StrCat(text, "\n  and ", differences.size() - kMostDifferences, " more");
}

// Checks that the job has the manifest's fingerprint. `fingerprint`, `config`: of the current job,
// in the form of manifests. `accept_changes`: if true, the job may differ if
// can_continue_as() (proto/config_fingerprint.h) accepts. Returns the accepted differences, such as
// "train.optimizer.learning_rate: 0.001 → 0.01". Errors: InvalidArgument listing the fields that
// differ.
absl::StatusOr<std::vector<std::string>> check_resumed_job(const CheckpointManifest& manifest,
                                                           const std::string& fingerprint,
                                                           const std::string& config,
                                                           bool accept_changes) {
  if (manifest.fingerprint() == fingerprint) return std::vector<std::string>();
  TrainConfig then, now;
  std::vector<std::string> lines;
  bool can_continue = false;
  if (!manifest.config().empty() &&
      parse_text(manifest.config(), "its configuration", &then).ok() &&
      parse_text(config, "the configuration", &now).ok()) {
    // The fingerprint may have been computed by the rules of another version.
    if (config_fingerprint(then) == fingerprint) return std::vector<std::string>();
    can_continue = can_continue_as(then, now);
    const bool all = can_continue || !accept_changes;
    lines = all ? config_differences(then, now) : fixed_differences(then, now);
    for (std::string& line : lines) line = absl::StrCat("train.", line);
    if (accept_changes && can_continue) return lines;
    if (lines.empty()) lines = {"train: the order of entries"};
  }
  const char* const remedy =
      can_continue
          ? "go back to its configuration, or continue it with the new one by --accept_changes"
          : "go back to its configuration, or start a new run in another output_dir: "
            "train.initialize_from takes its weights along, a source of train.model_bank with "
            "parts: [WEIGHTS, SLOTS, DENSE_OPTIMIZER, PROGRESS, CURSOR, HOOKS] takes along its "
            "optimizers, progress, place in the data and hooks too, so that training continues "
            "where it stood (docs/model_bank.md)";
  return absl::InvalidArgumentError(absl::StrCat(
      "this checkpoint is of another job; ", remedy,
      lines.empty() ? ""
                    : absl::StrCat(". What differs", accept_changes ? " and cannot change" : "",
                                   ", then → now:"),
      in_lines(lines)));
}

}  // namespace

absl::StatusOr<FoundCheckpoint> Saver::read(const std::string& path, const TrainState& target) {
  ASSIGN_OR_RETURN(const auto chain, open_chain(files_, path));
  const CheckpointManifest& manifest = chain.back()->manifest();
  // These checks precede the rows, whose reading may take minutes.
  ASSIGN_OR_RETURN(
      std::vector<std::string> changes,
      check_resumed_job(manifest, options_.fingerprint, options_.config, options_.accept_changes),
      path);
  RETURN_IF_ERROR(check_vocabularies(manifest, options_.vocabularies), path);
  FoundCheckpoint found;
  found.changes = std::move(changes);
  ThreadPool readers(kReadersForWriter * options_.write_threads);
  ASSIGN_OR_RETURN(found.state, read_state(chain, target, readers));
  found.info.path = path;
  found.digest = manifest.digest();
  ASSIGN_OR_RETURN(found.info.progress, from_state(found.state.shared.progress()), path);
  for (const auto& metric : manifest.metrics()) {
    found.metrics[metric.name()] = metric.value();
  }
  for (const auto& table : manifest.tables()) {
    if (table.omitted_rows() == 0) continue;
    found.notes.push_back(absl::StrCat(path, " was saved without ", table.omitted_rows(), " of ",
                                       table.rows() + table.omitted_rows(), " rows of table ",
                                       table.name(),
                                       " (run.checkpoint.row_filter), which begin with initial "
                                       "values when their ids occur again"));
  }
  return found;
}

// Lists the paths of checkpoints, newest first, in one text. "": none.
absl::StatusOr<std::string> Saver::list(const std::string& folder) {
  // The lock comes before reading; otherwise a save of another run in between would be missed.
  if (folder == options_.folder) {
    was_missing_ = absl::IsNotFound(files_.info(folder).status());
    // A bucket that cannot be written is found before the first step.
    const bool opens = !was_missing_ || is_bucket(folder);
    if (opens && !options_.read_only) RETURN_IF_ERROR(open_folder(/*chooses=*/true));
  }
  ASSIGN_OR_RETURN(const std::vector<ListedCheckpoint> all, list_checkpoints(files_, folder));
  return absl::StrJoin(newest_first(all), kBetweenPaths);
}

// Reads a checkpoint on all ranks or on none.
absl::StatusOr<FoundCheckpoint> Saver::read_agreed(const std::string& path,
                                                   const TrainState& target, Collectives& ranks) {
  absl::StatusOr<FoundCheckpoint> found = catch_exceptions([&] { return read(path, target); });
  const bool ok = found.ok();
  RETURN_IF_ERROR(agree_on_loading(found.status(), ok ? found->digest : "",
                                   ok ? found->state.rows : std::vector<PlacedRows>(), ranks));
  return found;
}

// Reads the newest readable checkpoint. `listed`: a result of list(), the same on all ranks.
absl::StatusOr<FoundCheckpoint> Saver::read_newest(absl::string_view listed,
                                                   const TrainState& target, Collectives& ranks) {
  const std::vector<std::string> paths = absl::StrSplit(listed, kBetweenPaths);
  FoundCheckpoint found;
  absl::Status reduced;
  const auto read = [&](size_t i) -> absl::StatusOr<bool> {
    absl::StatusOr<FoundCheckpoint> one = read_agreed(paths[i], target, ranks);
    if (one.ok()) {
      found = *std::move(one);
      return true;
    }
    // A checkpoint that was reduced to a model is not damaged, but training cannot resume from it.
    if (absl::IsFailedPrecondition(one.status())) {
      reduced.Update(one.status());
      return false;
    }
    if (is_damage(one.status())) unusable_.insert(paths[i]);
    return one.status();
  };
  const absl::StatusOr<NewestSearch> search = search_newest(paths, options_.on_damage, read);
  if (!search.ok()) {
    return is_damage(search.status())
               ? annotate(search.status(),
                          "on_damage is STRICT, and the newest checkpoint is damaged")
               : search.status();
  }
  for (const absl::Status& damaged : search->damaged) {
    logged_.insert(std::string(damaged.message()));
    found.notes.push_back(absl::StrCat("passed over: ", damaged.message()));
  }
  if (search->found.has_value()) return found;
  if (search->damaged.empty()) return reduced;
  return annotate(search->damaged.front(),
                  absl::StrCat("no checkpoint in ", directory_of(paths[0]),
                               " is whole (to start a new run, remove them or choose another "
                               "output_dir)"));
}

absl::StatusOr<FoundCheckpoint> Saver::restore_from(const std::string& path,
                                                    const TrainState& target, Collectives& ranks) {
  ASSIGN_OR_RETURN(
      const std::string listed,
      result_of_first(
          [&]() -> absl::StatusOr<std::string> {
            ASSIGN_OR_RETURN(const CheckpointPath place, resolve_checkpoint_path(files_, path));
            if (place.is_checkpoint) return place.path;
            ASSIGN_OR_RETURN(std::string listed, list(place.path));
            if (!listed.empty()) return listed;
            return absl::NotFoundError(absl::StrCat("there is no checkpoint in ", place.path));
          },
          ranks));
  // A checkpoint that is named itself is used or refused.
  if (listed == path) return read_agreed(path, target, ranks);
  return read_newest(listed, target, ranks);
}

absl::StatusOr<std::optional<FoundCheckpoint>> Saver::restore(const TrainState& target,
                                                              Collectives& ranks) {
  ASSIGN_OR_RETURN(const std::string listed,
                   result_of_first([&] { return list(options_.folder); }, ranks));
  if (listed.empty()) return std::nullopt;
  ASSIGN_OR_RETURN(FoundCheckpoint found, read_newest(listed, target, ranks));
  return std::optional<FoundCheckpoint>(std::move(found));
}

}  // namespace millrace
