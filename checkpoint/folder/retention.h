// Which checkpoints stay.
#ifndef MILLRACE_CHECKPOINT_FOLDER_RETENTION_H_
#define MILLRACE_CHECKPOINT_FOLDER_RETENTION_H_

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/file_system.h"
#include "base/thread_pool.h"
#include "checkpoint/folder/checkpoint_list.h"

namespace millrace {

struct RetentionPolicy {
  // The newest so many stay; at least 1.
  int64_t keep_last = 5;
  // Of each metric the best so many stay. Those whose manifest lacks the metric, or has NaN, are
  // none; of equal ones the newer is better.
  struct Best {
    std::string metric;
    int64_t count = 1;
    bool higher_is_better = true;
  };
  std::vector<Best> keep_best = {};
  // Those whose step is a multiple of this stay. Default: none.
  int64_t keep_every = 0;
  // The newest so many keep what only training needs; the others become model-only
  // (checkpoint/folder/model_only.h). At least 1. Default: all.
  int64_t full_last = INT64_MAX;
};

// Errors: InvalidArgument naming the field.
absl::Status check_retention_policy(const RetentionPolicy& policy);

// What a policy says of checkpoints.
struct RetentionPlan {
  // Indices into what was given.
  std::vector<size_t> remove;  // in this order: deltas before those they need
  std::vector<size_t> reduce;  // to model-only
};

// Checkpoints that cannot be used count for nothing and stay as they are: damaged ones, those of
// newer formats, deltas that lack what they need, and all that are newer than `newest`, the step of
// the newest that verifies. That one stays in any case, the one with the best score that it knows
// (checkpoint/folder/best_checkpoint.h), and whatever a delta that stays needs, unreduced. One
// whose manifest cannot be read may be a delta on any before it: those stay too. `checkpoints`: by
// ascending step, as list_checkpoints gives them. `unusable`: paths of those that are known to be
// damaged inside, which no listing shows.
RetentionPlan plan_retention(const std::vector<ListedCheckpoint>& checkpoints,
                             const RetentionPolicy& policy, int64_t newest,
                             const std::set<std::string>& unusable = {});

struct RetentionResult {
  std::vector<std::string> removed;  // paths
  std::vector<std::string> reduced;
  std::vector<absl::Status> damaged;  // what is wrong with those that stay for that
};

// Applies a policy to what is on disk. `check`: how well the newest is looked at before others are
// removed. If nothing verifies, nothing happens. However this ends, each checkpoint is there as it
// was, model-only, or not under its name.
// REQUIRES: the caller holds the lock of the folder.
// Errors: InvalidArgument for a bad policy; those of search_newest and of writing. What has been
// done then is done.
// `saved`: the step of a checkpoint known to be whole, since it was just made; newer ones may look
// so and are not trusted. `unusable`: as of plan_retention.
absl::StatusOr<RetentionResult> apply_retention(FileSystem& files, const std::string& folder,
                                                const RetentionPolicy& policy, Check check,
                                                ThreadPool& threads,
                                                std::optional<int64_t> saved = std::nullopt,
                                                const std::set<std::string>& unusable = {});

}  // namespace millrace

#endif  // MILLRACE_CHECKPOINT_FOLDER_RETENTION_H_
