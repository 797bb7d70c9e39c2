// Names of metrics with a cutoff, such as "ndcg@10".
#ifndef MILLRACE_METRICS_METRIC_CUTOFF_H_
#define MILLRACE_METRICS_METRIC_CUTOFF_H_

#include <cstdint>
#include <optional>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace millrace {

// The use of a cutoff in the name of a metric.
enum class MetricCutoff { kNone, kOptional, kRequired };

// The parts of a name. A metric that needs a cutoff is registered as "BASE_at", so that "recall@10"
// and "recall" are different metrics.
struct CutoffName {
  absl::string_view base;
  std::optional<int64_t> cutoff;  // none: there is none, or it is not from 1 to 1000000
};

// Returns the parts of "BASE" or "BASE@CUTOFF". Borrows `name`.
CutoffName split_cutoff(absl::string_view name);

// Checks that `name`, "BASE" or "BASE@CUTOFF", has a cutoff where `cutoff` requires one, and none
// where it allows none. Errors: InvalidArgument, saying what to write.
absl::Status check_cutoff(absl::string_view name, MetricCutoff cutoff);

}  // namespace millrace

#endif  // MILLRACE_METRICS_METRIC_CUTOFF_H_
