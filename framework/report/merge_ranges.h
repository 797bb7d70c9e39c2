// Metrics merged over ranks by ranges of their examples.
#ifndef MILLRACE_FRAMEWORK_REPORT_MERGE_RANGES_H_
#define MILLRACE_FRAMEWORK_REPORT_MERGE_RANGES_H_

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "metrics/ranged_metric.h"

namespace millrace {

class Collectives;

// Completes the merge of those of `metrics` that are partial (RangedMetric). Does nothing if there
// is none. All metrics share one exchange on the table channel, and then one broadcast of each
// rank. Collective: every rank has merged the same shares. Errors: as Collectives; DataLoss for a
// damaged message, and exceptions of this rank, which the other ranks get as Aborted.
absl::Status merge_ranges(absl::Span<RangedMetric* const> metrics, Collectives& collectives);

}  // namespace millrace

#endif  // MILLRACE_FRAMEWORK_REPORT_MERGE_RANGES_H_
