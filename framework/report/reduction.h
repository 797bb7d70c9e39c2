// Reductions of several values of one name to one value.
#ifndef MILLRACE_FRAMEWORK_REPORT_REDUCTION_H_
#define MILLRACE_FRAMEWORK_REPORT_REDUCTION_H_

#include "absl/strings/string_view.h"

namespace millrace {

// Applied over the micro-batches of a step, the steps of a report and the ranks: the weighted mean,
// the sum, the smallest, the largest or the last value. Over ranks, kLast is the last value of the
// lowest rank that reported the name.
enum class Reduction { kMean, kSum, kMin, kMax, kLast };

// Returns "mean", "sum", "min", "max" or "last".
absl::string_view reduction_name(Reduction reduction);

}  // namespace millrace

#endif  // MILLRACE_FRAMEWORK_REPORT_REDUCTION_H_
