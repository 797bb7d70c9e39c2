#include "checkpoint/retention.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "checkpoint/commit_directory.h"
#include "checkpoint/model_only.h"

namespace millrace {
namespace {

using Manifest = CheckpointManifest;

std::optional<double> metric(const Manifest& manifest, const std::string& name) {
  for (const Manifest::Metric& metric : manifest.metrics()) {
    if (metric.name() == name && !std::isnan(metric.value())) return metric.value();
  }
  return std::nullopt;
}

// The best of `whole`, which are indices by ascending step.
std::vector<size_t> best_of(const std::vector<ListedCheckpoint>& checkpoints,
                            const std::vector<size_t>& whole, const RetentionPolicy::Best& best) {
  std::vector<std::pair<double, size_t>> values;  // to be sorted ascending
  for (const size_t i : whole) {
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

}  // namespace

absl::Status check_retention_policy(const RetentionPolicy& policy) {
  auto refuse = [](absl::string_view field, int64_t value) {
    return absl::InvalidArgumentError(absl::StrCat(field, " is ", value));
  };
  if (policy.keep_last < 1) return refuse("keep_last", policy.keep_last);
  if (policy.keep_every < 0) return refuse("keep_every", policy.keep_every);
  if (policy.full_last < 1) return refuse("full_last", policy.full_last);
  for (const RetentionPolicy::Best& best : policy.keep_best) {
    if (best.count < 1) return refuse("keep_best.count", best.count);
    if (best.metric.empty()) return absl::InvalidArgumentError("keep_best.metric is empty");
  }
  return absl::OkStatus();
}

RetentionPlan plan_retention(const std::vector<ListedCheckpoint>& checkpoints,
                             const RetentionPolicy& policy, int64_t newest) {
  std::vector<size_t> whole;
  for (size_t i = 0; i < checkpoints.size(); ++i) {
    if (checkpoints[i].reader != nullptr) whole.push_back(i);
  }
  std::set<size_t> kept, full;
  for (size_t n = 0; n < whole.size(); ++n) {
    const size_t i = whole[n];
    const int64_t age = whole.size() - 1 - n;  // 0: the newest
    const int64_t step = checkpoints[i].step;
    const bool fixed = step >= newest;
    const bool due = policy.keep_every > 0 && step % policy.keep_every == 0;
    if (fixed || due || age < policy.keep_last) kept.insert(i);
    if (fixed || age < policy.full_last) full.insert(i);
  }
  for (const RetentionPolicy::Best& best : policy.keep_best) {
    for (const size_t i : best_of(checkpoints, whole, best)) kept.insert(i);
  }
  // From the newest down, so that a base is seen after all that need it.
  std::set<int64_t> needed;  // steps
  RetentionPlan plan;
  for (auto i = whole.rbegin(); i != whole.rend(); ++i) {
    const ListedCheckpoint& checkpoint = checkpoints[*i];
    const Manifest& manifest = checkpoint.reader->manifest();
    const bool base = needed.count(checkpoint.step) > 0;
    if (!base && kept.count(*i) == 0) {
      plan.remove.push_back(*i);
      continue;
    }
    if (manifest.has_base()) {
      needed.insert(manifest.base().step());
    } else if (!base && full.count(*i) == 0 && has_training_state(manifest)) {
      plan.reduce.push_back(*i);
    }
  }
  return plan;
}

absl::StatusOr<RetentionResult> apply_retention(FileSystem& files, const std::string& folder,
                                                const RetentionPolicy& policy, Check check,
                                                ThreadPool& threads, std::optional<int64_t> saved) {
  RETURN_IF_ERROR(check_retention_policy(policy));
  ASSIGN_OR_RETURN(const std::vector<ListedCheckpoint> checkpoints,
                   list_checkpoints(files, folder));
  RetentionResult result;
  const std::vector<size_t> newest = find_newest(checkpoints, check, threads, &result.damaged);
  if (newest.empty()) return result;
  int64_t newest_step = checkpoints[newest.back()].step;
  if (saved.has_value()) newest_step = std::min(newest_step, *saved);
  result.damaged.clear();
  for (const ListedCheckpoint& checkpoint : checkpoints) {
    if (!checkpoint.status.ok()) result.damaged.push_back(checkpoint.status);
  }
  const RetentionPlan plan = plan_retention(checkpoints, policy, newest_step);
  for (const size_t i : plan.remove) {
    RETURN_IF_ERROR(remove_checkpoint(files, checkpoints[i].path));
    result.removed.push_back(checkpoints[i].path);
  }
  for (const size_t i : plan.reduce) {
    RETURN_IF_ERROR(make_model_only(files, checkpoints[i].path, threads));
    result.reduced.push_back(checkpoints[i].path);
  }
  return result;
}

}  // namespace millrace
