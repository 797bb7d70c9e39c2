// Values that models and hooks report, and how several become one.
#ifndef MILLRACE_HOOK_REPORTED_VALUE_H_
#define MILLRACE_HOOK_REPORTED_VALUE_H_

#include <cstdint>
#include <vector>

#include "absl/strings/string_view.h"

namespace millrace {

// Applied over the micro-batches of a step, the steps of a report and the ranks: the weighted mean,
// the sum, the smallest, the largest or the last value. Over ranks, kLast is the last value of the
// lowest rank that reported the name.
enum class Reduction { kMean, kSum, kMin, kMax, kLast };

// Returns "mean", "sum", "min", "max" or "last".
absl::string_view reduction_name(Reduction reduction);

// A histogram of finite numbers.
struct Distribution {
  int64_t count = 0;       // of the finite numbers
  int64_t not_finite = 0;  // numbers omitted: infinite ones and not-a-number
  // Statistics of the finite numbers; 0 if there are none.
  double min = 0, max = 0, sum = 0, sum_of_squares = 0;
  // Upper limits of the bins, ascending. Bin b counts the numbers in (limits[b-1], limits[b]]; the
  // first bin also counts all lower numbers. The last limit is at least `max`.
  std::vector<double> limits = {};
  std::vector<int64_t> counts = {};  // of each bin
};

}  // namespace millrace

#endif  // MILLRACE_HOOK_REPORTED_VALUE_H_
