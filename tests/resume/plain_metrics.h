// Metrics by their formulas, for tests.
#ifndef MILLRACE_TESTS_RESUME_PLAIN_METRICS_H_
#define MILLRACE_TESTS_RESUME_PLAIN_METRICS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace millrace {

// An example of one binary task that has its label.
struct PlainExample {
  double prediction = 0;
  double label = 0;
  double weight = 1;
  int64_t group = 0;
};

// Returns the metric `name` (metric_names(), "ndcg@3" with a cutoff) with default options, computed
// from the definition: areas by comparing all pairs, rankings by trying all orders of ties. Returns
// none for an unknown name. "auc_buckets" is the exact area.
std::optional<double> plain_metric(absl::string_view name,
                                   const std::vector<PlainExample>& examples);

// Returns the error bound in the header of auc_buckets.
double plain_buckets_bound(int64_t buckets, const std::vector<PlainExample>& examples);

}  // namespace millrace

#endif  // MILLRACE_TESTS_RESUME_PLAIN_METRICS_H_
