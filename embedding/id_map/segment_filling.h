// Filling an id map's segments with entries.
#ifndef MILLRACE_EMBEDDING_ID_MAP_SEGMENT_FILLING_H_
#define MILLRACE_EMBEDDING_ID_MAP_SEGMENT_FILLING_H_

#include <cstdint>

#include "embedding/id_map/id_map_bucket.h"
#include "embedding/id_map/id_map_kernels.h"

namespace millrace {

// Places an entry whose id, of this hash, is not in the segment, which has room; segments are as
// large as `map` says. Returns: its place.
IdMapEntry* place_entry(const IdMapView& map, IdMapBucket* segment, const IdMapEntry& entry,
                        uint64_t hash);

// Places what the `count` buckets at `from` hold, which are left as they are.
void place_entries(const IdMapView& map, const IdMapBucket* from, uint64_t count,
                   IdMapBucket* segment);

// Entries of the segment `from` go to that at `zero` if their hash lacks `bit`, a power of two,
// else to that at `one`; what stood there does not matter. `zero` may be `from`, which is else left
// as it is. REQUIRES: segments have a multiple of kIdMapRun buckets. Returns: how many went to
// `one`.
int32_t split_entries(const IdMapKernels& kernels, const IdMapView& map, const IdMapBucket* from,
                      uint64_t bit, IdMapBucket* zero, IdMapBucket* one);

}  // namespace millrace

#endif  // MILLRACE_EMBEDDING_ID_MAP_SEGMENT_FILLING_H_
