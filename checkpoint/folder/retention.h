// Selection of the checkpoints that a folder retains, and of the parts that they retain.
#ifndef MILLRACE_CHECKPOINT_FOLDER_RETENTION_H_
#define MILLRACE_CHECKPOINT_FOLDER_RETENTION_H_

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "base/file_system.h"
#include "base/thread_pool.h"
#include "checkpoint/folder/checkpoint_list.h"
#include "proto/config.pb.h"

namespace millrace {

struct RetentionPolicy {
  // Number of the newest checkpoints that stay; at least 1.
  int64_t keep_last = 5;
  // Per metric, the number of the best checkpoints that stay. A checkpoint whose manifest lacks the
  // metric, or has NaN, does not count. Among equal checkpoints the newer is better.
  struct Best {
    std::string metric;
    int64_t count = 1;
    bool higher_is_better = true;
  };
  std::vector<Best> keep_best = {};
  // Checkpoints whose step is a multiple of this number stay. Default: none.
  int64_t keep_every = 0;
  // Number of the newest checkpoints that retain the parts that only training needs; the others
  // become model-only (make_model_only). At least 1. Default: all.
  int64_t full_last = INT64_MAX;
};

// Checks the numbers of a policy. Errors: InvalidArgument naming the field.
absl::Status check_retention_policy(const RetentionPolicy& policy);

// The result of applying a policy to a list of checkpoints.
struct RetentionPlan {
  // Indices into the list.
  std::vector<size_t> remove;  // in this order: deltas before their bases
  std::vector<size_t> reduce;  // to model-only
};

// Plans retention. Unusable checkpoints do not count and stay unchanged: damaged checkpoints,
// checkpoints of newer formats, deltas without their base, and all checkpoints newer than `newest`,
// the step of the newest that verifies. Three kinds always stay: checkpoint `newest`; the best
// checkpoint that it records (checkpoint/folder/checkpoint_path.h); and, unreduced, all bases of a
// delta that stays. A checkpoint whose manifest cannot be read may be a delta on any earlier
// checkpoint, so all earlier checkpoints stay too. `checkpoints`: by ascending step, as
// list_checkpoints() returns them. `unusable`: paths of checkpoints with known damage inside files,
// which no listing shows.
RetentionPlan plan_retention(const std::vector<ListedCheckpoint>& checkpoints,
                             const RetentionPolicy& policy, int64_t newest,
                             const std::set<std::string>& unusable = {});

struct RetentionResult {
  std::vector<std::string> removed;  // paths
  std::vector<std::string> reduced;
  std::vector<absl::Status> damaged;  // errors of the damaged checkpoints, which stay
};

// Applies a policy to a folder. `check`: the check of the newest checkpoint before others are
// removed. `saved`: the step of a checkpoint known to be whole, since it was just saved; newer
// checkpoints are not trusted. `unusable`: as in plan_retention(). `token`: as
// CommitOptions::token. If no checkpoint verifies, nothing happens. Even after an error each
// checkpoint is unchanged, model-only, or not present under its name. REQUIRES: the caller holds
// the lock of the folder. Errors: InvalidArgument for an invalid policy; any error of
// search_newest(); Aborted if another process has taken the folder; write errors. Completed
// removals and reductions are not undone.
absl::StatusOr<RetentionResult> apply_retention(FileSystem& files, const std::string& folder,
                                                const RetentionPolicy& policy, Check check,
                                                ThreadPool& threads,
                                                std::optional<int64_t> saved = std::nullopt,
                                                const std::set<std::string>& unusable = {},
                                                const std::string& token = "");

// Checks the numbers of the message, and the counts of keep_best. Errors: InvalidArgument that
// begins with `where`, the place of the message in the configuration, and names the field.
absl::Status check_retention(absl::string_view where, const CheckpointConfig& config);

}  // namespace millrace

#endif  // MILLRACE_CHECKPOINT_FOLDER_RETENTION_H_
