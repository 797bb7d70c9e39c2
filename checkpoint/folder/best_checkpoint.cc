#include "checkpoint/folder/best_checkpoint.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "checkpoint/format/checkpoint_names.h"

namespace millrace {

std::optional<size_t> find_best(const std::vector<ListedCheckpoint>& checkpoints,
                                const std::vector<size_t>& usable) {
  if (usable.empty()) return std::nullopt;
  const CheckpointManifest& newest = checkpoints[usable.back()].reader->manifest();
  if (!newest.has_best()) return std::nullopt;
  const auto found = std::find_if(usable.begin(), usable.end(), [&](size_t i) {
    return checkpoints[i].step == newest.best().step();
  });
  return found == usable.end() ? std::nullopt : std::optional<size_t>(*found);
}

absl::StatusOr<std::string> best_checkpoint(FileSystem& files, const std::string& folder) {
  ASSIGN_OR_RETURN(const std::vector<ListedCheckpoint> checkpoints,
                   list_checkpoints(files, folder));
  std::vector<size_t> usable;
  for (size_t i = 0; i < checkpoints.size(); ++i) {
    if (listed_chain(checkpoints, i).ok()) usable.push_back(i);
  }
  if (usable.empty()) {
    return absl::NotFoundError(absl::StrCat("there is no checkpoint in ", folder));
  }
  const std::optional<size_t> best = find_best(checkpoints, usable);
  if (best.has_value()) return checkpoints[*best].path;
  const ListedCheckpoint& newest = checkpoints[usable.back()];
  if (!newest.reader->manifest().has_best()) {
    return absl::NotFoundError(absl::StrCat(
        "no best score is known in ", newest.path,
        ": the run had none yet, or run.evaluation.best was not given; name a checkpoint"));
  }
  const CheckpointManifest::BestScore& score = newest.reader->manifest().best();
  return absl::NotFoundError(absl::StrCat("the best score of ", newest.path, " is ", score.value(),
                                          " of step ", score.step(), ", but ",
                                          join_path(folder, checkpoint_name(score.step())),
                                          " is not there or damaged; name another checkpoint"));
}

}  // namespace millrace
