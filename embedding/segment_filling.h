// Moving an id map's entries from one segment to others.
#ifndef MILLRACE_EMBEDDING_SEGMENT_FILLING_H_
#define MILLRACE_EMBEDDING_SEGMENT_FILLING_H_

#include <cstdint>

#include "embedding/id_map_bucket.h"
#include "embedding/segment_memory.h"

namespace millrace {

// One or two segments that are filled, and how many entries each of their buckets has: looking that
// up in the buckets would take longer than the placing. 16 KiB, for the stack.
class SegmentFilling {
 public:
  // Ids go to the segment at `zero` if their hash lacks `bit`, a power of two, else to that at
  // `one`; all to `zero` if `bit` is 0. Segments are as large as `map` says, which outlives this.
  SegmentFilling(const IdMapView& map, IdMapBucket* zero, IdMapBucket* one, uint64_t bit)
      : map_(map), buckets_{zero, one}, bit_(bit) {}

  // Places what the `count` buckets at `from` hold, a multiple of 64. In the first call `from` may
  // be `zero`, of the same size, which is then cleared on the way; else it is left as it is.
  void place_all(IdMapBucket* from, uint64_t count);

  // Entries placed in the segment at `one`.
  int32_t size_of_one() const;

 private:
  static constexpr uint8_t kNotReady = 0xff;  // holds what is still to be placed

  // Returns: false if the entry would go to a bucket that is not ready.
  bool place(const IdMapEntry& entry);
  bool place_behind(const IdMapEntry& entry, uint64_t hash);

  const IdMapView& map_;
  IdMapBucket* const buckets_[2];
  const uint64_t bit_;
  uint8_t counts_[2][SegmentMemory::kFullBytes / sizeof(IdMapBucket)] = {};
};

}  // namespace millrace

#endif  // MILLRACE_EMBEDDING_SEGMENT_FILLING_H_
