// Rules of the message BestScoreConfig.
#ifndef MILLRACE_FRAMEWORK_LOOP_BEST_SCORE_CHECK_H_
#define MILLRACE_FRAMEWORK_LOOP_BEST_SCORE_CHECK_H_

#include <optional>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "proto/config.pb.h"

namespace millrace {

// Returns true if higher scores are better, according to the field of this name or to the metrics
// of all terms. None: the field is missing, and a metric has no direction or the directions differ.
std::optional<bool> higher_is_better(const BestScoreConfig& config);

// Checks the fields of `config`, which is at `where`. Does not check that a job evaluates the
// monitors. Errors: InvalidArgument with one line for each wrong field.
absl::Status check_best_score(absl::string_view where, const BestScoreConfig& config);

}  // namespace millrace

#endif  // MILLRACE_FRAMEWORK_LOOP_BEST_SCORE_CHECK_H_
