#include "metrics/ranged_metric.h"

#include <algorithm>

namespace millrace {

uint64_t quantile_end(uint64_t count, size_t i) {
  constexpr uint64_t kParts = RangedMetric::kQuantiles;
  return count / kParts * i + (count % kParts * i + kParts - 1) / kParts;
}

std::vector<uint32_t> range_bounds(std::vector<KeyCount> counts, int ranges) {
  std::sort(counts.begin(), counts.end(),
            [](const KeyCount& a, const KeyCount& b) { return a.key < b.key; });
  double total = 0;
  for (const KeyCount& entry : counts) total += static_cast<double>(entry.count);
  std::vector<uint32_t> bounds;
  double sum = 0;
  for (const KeyCount& entry : counts) {
    sum += static_cast<double>(entry.count);
    // One key with many examples may end several ranges, of which all but the first are empty.
    while (static_cast<int>(bounds.size()) < ranges - 1 &&
           sum * ranges >= total * static_cast<double>(bounds.size() + 1)) {
      bounds.push_back(entry.key);
    }
  }
  return bounds;
}

}  // namespace millrace
