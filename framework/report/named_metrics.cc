#include "framework/report/named_metrics.h"

#include <ATen/Parallel.h>

#include <atomic>
#include <cstddef>
#include <vector>

namespace millrace {

// The cost of metrics differs a hundredfold, so each thread takes the next one that is left. The
// last ones come first: lists often end with metrics in groups, which take longest.
void compute_metrics(absl::Span<const NamedMetric> metrics, std::map<std::string, double>& values) {
  std::vector<double> computed(metrics.size());
  std::atomic<size_t> taken = 0;
  const int threads = at::get_num_threads();
  at::parallel_for(0, threads, /*grain_size=*/1, [&](int64_t, int64_t) {
    for (size_t i = taken++; i < metrics.size(); i = taken++) {
      const size_t place = metrics.size() - 1 - i;
      computed[place] = metrics[place].metric->compute();
    }
  });
  for (size_t i = 0; i < metrics.size(); ++i) values[metrics[i].name] = computed[i];
}

}  // namespace millrace
