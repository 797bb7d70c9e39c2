#include "checkpoint/folder/retention.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "base/status_macros.h"
#include "checkpoint/folder/checkpoint_path.h"
#include "checkpoint/folder/checkpoint_reader.h"
#include "checkpoint/folder/commit_directory.h"
#include "checkpoint/folder/model_only.h"
#include "proto/config.pb.h"
#include "proto/field_check.h"
#include "proto/range_check.h"

namespace millrace {
namespace {

using Manifest = CheckpointManifest;

std::optional<double> metric(const Manifest& manifest, const std::string& name) {
  for (const Manifest::Metric& metric : manifest.metrics()) {
    if (metric.name() == name && !std::isnan(metric.value())) return metric.value();
  }
  return std::nullopt;
}

// Returns the best of `usable`, which are indices by ascending step.
std::vector<size_t> best_of(const std::vector<ListedCheckpoint>& checkpoints,
                            const std::vector<size_t>& usable, const RetentionPolicy::Best& best) {
  std::vector<std::pair<double, size_t>> values;  // to be sorted ascending
  for (const size_t i : usable) {
    const auto value = metric(checkpoints[i].reader->manifest(), best.metric);
    if (value) values.push_back({best.higher_is_better ? *value : -*value, i});
  }
  std::sort(values.rbegin(), values.rend());
  std::vector<size_t> indices;
  for (size_t n = 0; n < values.size() && static_cast<int64_t>(n) < best.count; ++n) {
    indices.push_back(values[n].second);
  }
  return indices;
}

// Returns the checkpoints that training could resume from, as far as known, by ascending step.
std::vector<size_t> usable_of(const std::vector<ListedCheckpoint>& checkpoints, int64_t newest,
                              const std::set<std::string>& unusable) {
  std::vector<size_t> usable;
  for (size_t i = 0; i < checkpoints.size() && checkpoints[i].step <= newest; ++i) {
    const absl::StatusOr<std::vector<size_t>> chain = listed_chain(checkpoints, i);
    const bool whole = chain.ok() && std::none_of(chain->begin(), chain->end(), [&](size_t part) {
                         return unusable.count(checkpoints[part].path) > 0;
                       });
    if (whole) usable.push_back(i);
  }
  return usable;
}

// Returns null if the manifest cannot be read.
const Manifest* manifest_of(const ListedCheckpoint& checkpoint) {
  if (checkpoint.reader != nullptr) return &checkpoint.reader->manifest();
  return checkpoint.manifest.has_value() ? &*checkpoint.manifest : nullptr;
}

}  // namespace

absl::Status check_retention_policy(const RetentionPolicy& policy) {
  CheckpointConfig numbers;
  numbers.set_keep_last(policy.keep_last);
  numbers.set_keep_every(policy.keep_every);
  for (const RetentionPolicy::Best& best : policy.keep_best) {
    if (best.metric.empty()) return wrong("retention", "keep_best has an empty metric");
    CheckpointConfig::Best& added = *numbers.add_keep_best();
    added.set_metric(best.metric);
    added.set_count(best.count);
  }
  RETURN_IF_ERROR(check_retention("retention", numbers));
  // Unlike in the configuration, 0 does not mean all.
  return at_least("retention", "full_last", policy.full_last, 1);
}

RetentionPlan plan_retention(const std::vector<ListedCheckpoint>& checkpoints,
                             const RetentionPolicy& policy, int64_t newest,
                             const std::set<std::string>& unusable) {
  const std::vector<size_t> usable = usable_of(checkpoints, newest, unusable);
  std::set<size_t> goes, full;
  for (size_t n = 0; n < usable.size(); ++n) {
    const size_t i = usable[n];
    const int64_t age = usable.size() - 1 - n;  // 0: the newest
    const int64_t step = checkpoints[i].step;
    const bool due = policy.keep_every > 0 && step % policy.keep_every == 0;
    if (!due && age >= policy.keep_last) goes.insert(i);
    if (age < policy.full_last) full.insert(i);
  }
  for (const RetentionPolicy::Best& best : policy.keep_best) {
    for (const size_t i : best_of(checkpoints, usable, best)) goes.erase(i);
  }
  if (const auto best = find_best(checkpoints, usable); best.has_value()) goes.erase(*best);
  // The order is from newest to oldest: deltas precede their bases.
  std::set<int64_t> needed;  // steps
  bool all_needed = false;
  RetentionPlan plan;
  for (size_t i = checkpoints.size(); i-- > 0;) {
    const bool base = all_needed || needed.count(checkpoints[i].step) > 0;
    if (!base && goes.count(i) > 0) {
      plan.remove.push_back(i);
      continue;
    }
    const Manifest* manifest = manifest_of(checkpoints[i]);
    if (manifest == nullptr) {
      all_needed = true;
    } else if (manifest->has_base()) {
      needed.insert(manifest->base().step());
    } else if (!base && full.count(i) == 0 && has_training_state(*manifest) &&
               std::binary_search(usable.begin(), usable.end(), i)) {
      plan.reduce.push_back(i);
    }
  }
  return plan;
}

absl::StatusOr<RetentionResult> apply_retention(FileSystem& files, const std::string& folder,
                                                const RetentionPolicy& policy, Check check,
                                                ThreadPool& threads, std::optional<int64_t> saved,
                                                const std::set<std::string>& unusable,
                                                const std::string& token) {
  RETURN_IF_ERROR(check_retention_policy(policy));
  ASSIGN_OR_RETURN(const std::vector<ListedCheckpoint> checkpoints,
                   list_checkpoints(files, folder));
  RetentionResult result;
  // Only the saved checkpoint is known to be whole. A run that resumed at an earlier step has newer
  // checkpoints that it did not write.
  absl::Span<const ListedCheckpoint> trusted(checkpoints);
  while (saved.has_value() && !trusted.empty() && trusted.back().step > *saved) {
    trusted.remove_suffix(1);
  }
  ASSIGN_OR_RETURN(const std::vector<size_t> newest,
                   find_newest(trusted, check, threads, &result.damaged));
  if (newest.empty()) return result;
  // The search examined only the newest checkpoints; the result lists the damage of all.
  result.damaged.clear();
  for (size_t i = 0; i < checkpoints.size(); ++i) {
    const absl::Status status = listed_chain(checkpoints, i).status();
    if (!status.ok()) result.damaged.push_back(status);
  }
  const RetentionPlan plan =
      plan_retention(checkpoints, policy, checkpoints[newest.back()].step, unusable);
  for (const size_t i : plan.remove) {
    RETURN_IF_ERROR(remove_checkpoint(files, checkpoints[i].path, token));
    result.removed.push_back(checkpoints[i].path);
  }
  for (const size_t i : plan.reduce) {
    RETURN_IF_ERROR(make_model_only(files, checkpoints[i].path, threads, token));
    result.reduced.push_back(checkpoints[i].path);
  }
  return result;
}

absl::Status check_retention(absl::string_view where, const CheckpointConfig& config) {
  RETURN_IF_ERROR(check_own_ranges(where, config));
  for (const CheckpointConfig::Best& best : config.keep_best()) {
    RETURN_IF_ERROR(check_ranges(absl::StrCat(where, ".keep_best \"", best.metric(), "\""), best));
  }
  return absl::OkStatus();
}

}  // namespace millrace
