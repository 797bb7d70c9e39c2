#include "job/keep_best_check.h"

#include <set>
#include <string>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "job/metric_names.h"
#include "metrics/metric_direction.h"
#include "proto/field_check.h"
#include "proto/field_errors.h"

namespace millrace {

absl::Status check_keep_best(const JobConfig& config) {
  if (config.run().checkpoint().keep_best().empty()) return absl::OkStatus();
  ASSIGN_OR_RETURN(const MetricNames names, MetricNames::create(config));
  FieldErrors errors;
  std::set<std::string> seen;
  for (const CheckpointConfig::Best& best : config.run().checkpoint().keep_best()) {
    const std::string where = absl::StrCat("run.checkpoint.keep_best \"", best.metric(), "\"");
    if (!seen.insert(best.metric()).second) {
      errors.add(wrong(where, "an entry before it has the metric; give that one a larger count"));
      continue;
    }
    errors.add(names.check_of_checkpoints(where, best.metric()));
    if (!contradicts(best.metric(), best.higher_is_better())) continue;
    errors.add(
        wrong(where, absl::StrCat("higher_is_better is ",
                                  best.higher_is_better() ? "true, but lower" : "false, but higher",
                                  " values of ", best.metric(), " are better")));
  }
  return errors.status();
}

}  // namespace millrace
