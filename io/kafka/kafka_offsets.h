// Ranges of offsets of the partitions of a topic.
#ifndef MILLRACE_IO_KAFKA_KAFKA_OFFSETS_H_
#define MILLRACE_IO_KAFKA_KAFKA_OFFSETS_H_

#include <cstdint>
#include <vector>

#include "absl/types/span.h"

namespace millrace {

// Offsets [begin, end) of a partition.
struct KafkaOffsets {
  int64_t begin = 0;
  int64_t end = 0;
};

// Returns the number of offsets of all ranges.
int64_t size_of(absl::Span<const KafkaOffsets> ranges);

// Cuts the ranges, one for each partition, to `limit` offsets in all: as many of each partition as
// it has, up to a level that is equal for all, so that no partition falls behind. What is left over
// goes by ones to partitions in turn. How much a partition has above the level does not matter.
void cut(int64_t limit, std::vector<KafkaOffsets>* ranges);

// Returns how many offsets a range needs for cut() to give what it gives with the true ends of the
// partitions. A range that has fewer must end where its partition ends.
int64_t needed_for_cut(int64_t limit, absl::Span<const KafkaOffsets> ranges);

}  // namespace millrace

#endif  // MILLRACE_IO_KAFKA_KAFKA_OFFSETS_H_
