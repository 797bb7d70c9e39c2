#include "tools/keep_best_check.h"

#include <algorithm>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/status_macros.h"
#include "base/text.h"
#include "framework/trainer_parts.h"
#include "io/feature_schema.h"

namespace millrace {
namespace {

// As MetricSet names them.
std::vector<std::string> metrics_of(const TrainConfig& train,
                                    const std::vector<std::string>& labels) {
  std::vector<std::string> metrics(train.metric().begin(), train.metric().end());
  if (metrics.empty()) metrics = TrainerOptions().metrics;
  std::vector<std::string> names = {"loss"};
  for (const std::string& label : labels) {
    for (const std::string& metric : metrics) {
      names.push_back(labels.size() > 1 ? absl::StrCat(label, "/", metric) : metric);
    }
  }
  return names;
}

}  // namespace

absl::Status check_keep_best(const JobConfig& config) {
  const TrainConfig& train = config.train();
  if (config.run().checkpoint().keep_best().empty()) return absl::OkStatus();
  ASSIGN_OR_RETURN(const FeatureSchema schema, FeatureSchema::create(train));
  const std::vector<std::string> metrics = metrics_of(train, schema.labels());
  std::vector<std::string> sets, known;
  for (const EvaluationSetConfig& set : train.eval_data()) sets.push_back(set.name());
  const EvaluationConfig& evaluation = config.run().evaluation();
  if (evaluation.enabled() && evaluation.progressive()) sets.push_back(kNextWindow);
  for (const std::string& set : sets) {
    for (const std::string& metric : metrics) known.push_back(absl::StrCat(set, "/", metric));
  }
  for (const CheckpointConfig::Best& best : config.run().checkpoint().keep_best()) {
    if (std::find(known.begin(), known.end(), best.metric()) != known.end()) continue;
    const std::string entry = absl::StrCat("run.checkpoint.keep_best \"", best.metric(), "\"");
    if (sets.empty()) {
      return absl::InvalidArgumentError(
          absl::StrCat(entry, ": the job evaluates nothing; give --eval_data or train.eval_data"));
    }
    const std::string near = nearest(best.metric(), known);
    return absl::InvalidArgumentError(absl::StrCat(
        entry, ": no evaluation gives this metric",
        near.empty() ? "" : absl::StrCat("; did you mean \"", near, "\"?"),
        near.empty() ? "; sets: " : " Sets: ", absl::StrJoin(sets, ", "),
        "; metrics: ", absl::StrJoin(metrics, ", ")));
  }
  return absl::OkStatus();
}

}  // namespace millrace
