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
#include "checkpoint/state/resumed_job_check.h"
#include "checkpoint/state/state_messages.h"
#include "checkpoint/state/state_reader.h"
#include "distributed/agreed_result.h"

namespace millrace {
namespace {

// Some threads work while others wait for the disk.
constexpr int kReadersForWriter = 4;

constexpr absl::string_view kBetweenPaths("\0", 1);

}  // namespace

absl::StatusOr<FoundCheckpoint> Saver::read(const std::string& path, const TrainState& target) {
  ASSIGN_OR_RETURN(const auto chain, open_chain(files_, path));
  const CheckpointManifest& manifest = chain.back()->manifest();
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
    if (!was_missing_ && !options_.read_only) RETURN_IF_ERROR(open_folder(/*chooses=*/true));
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
    told_.insert(std::string(damaged.message()));
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
