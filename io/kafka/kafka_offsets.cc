#include "io/kafka/kafka_offsets.h"

#include <algorithm>
#include <cstddef>

namespace millrace {
namespace {

int64_t size_of(const KafkaOffsets& range) { return range.end - range.begin; }

// Returns the largest n for which the sum of min(size, n) is at most `limit`, but no more than the
// largest size.
int64_t level_of(int64_t limit, absl::Span<const KafkaOffsets> ranges) {
  std::vector<int64_t> sizes;
  for (const KafkaOffsets& range : ranges) sizes.push_back(size_of(range));
  std::sort(sizes.begin(), sizes.end());
  auto left = static_cast<int64_t>(sizes.size());
  for (const int64_t size : sizes) {
    if (size > limit / left) return limit / left;
    limit -= size;
    --left;
  }
  return sizes.empty() ? 0 : sizes.back();
}

}  // namespace

int64_t size_of(absl::Span<const KafkaOffsets> ranges) {
  int64_t size = 0;
  for (const KafkaOffsets& range : ranges) size += size_of(range);
  return size;
}

void cut(int64_t limit, std::vector<KafkaOffsets>* ranges) {
  const int64_t level = level_of(limit, *ranges);
  size_t first = 0;  // of the partitions that get one more: it follows from where the ranges begin
  for (const KafkaOffsets& range : *ranges) {
    limit -= std::min(size_of(range), level);
    first += static_cast<size_t>(range.begin);
  }
  for (size_t i = 0; i < ranges->size(); ++i) {
    KafkaOffsets& range = (*ranges)[(first + i) % ranges->size()];
    if (size_of(range) <= level) continue;
    const int64_t more = limit > 0 ? 1 : 0;
    range.end = range.begin + level + more;
    limit -= more;
  }
}

int64_t needed_for_cut(int64_t limit, absl::Span<const KafkaOffsets> ranges) {
  return size_of(ranges) < limit ? limit : level_of(limit, ranges) + 1;
}

}  // namespace millrace
