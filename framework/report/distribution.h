// Histograms of the elements of a tensor.
#ifndef MILLRACE_FRAMEWORK_REPORT_DISTRIBUTION_H_
#define MILLRACE_FRAMEWORK_REPORT_DISTRIBUTION_H_

#include <cstdint>
#include <vector>

namespace millrace {

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

#endif  // MILLRACE_FRAMEWORK_REPORT_DISTRIBUTION_H_
