// How the elements of a tensor are distributed.
#ifndef MILLRACE_FRAMEWORK_REPORT_DISTRIBUTION_H_
#define MILLRACE_FRAMEWORK_REPORT_DISTRIBUTION_H_

#include <cstdint>
#include <vector>

namespace millrace {

// A histogram of finite numbers.
struct Distribution {
  int64_t count = 0;       // of the finite numbers
  int64_t not_finite = 0;  // numbers that were left out: infinite ones and not-a-number
  // Of the finite numbers; 0 without any.
  double min = 0, max = 0, sum = 0, sum_of_squares = 0;
  // Bin b has the numbers in (limits[b-1], limits[b]], the first one also those below. Ascending;
  // the last limit is at least `max`.
  std::vector<double> limits = {};
  std::vector<int64_t> counts = {};  // of each bin
};

}  // namespace millrace

#endif  // MILLRACE_FRAMEWORK_REPORT_DISTRIBUTION_H_
