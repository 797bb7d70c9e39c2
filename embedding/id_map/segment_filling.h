// Placement of entries in an id map's segments.
#ifndef MILLRACE_EMBEDDING_ID_MAP_SEGMENT_FILLING_H_
#define MILLRACE_EMBEDDING_ID_MAP_SEGMENT_FILLING_H_

#include <cstdint>

#include "embedding/id_map/id_map_bucket.h"
#include "embedding/id_map/id_map_kernels.h"

namespace millrace {

// Places an entry with hash `hash` and returns its place. Segments have the size in `map`.
// REQUIRES: the segment has room, and not the id.
IdMapEntry* place_entry(const IdMapView& map, IdMapBucket* segment, const IdMapEntry& entry,
                        uint64_t hash);

// Places the entries of the `count` buckets at `from`, which do not change.
void place_entries(const IdMapView& map, const IdMapBucket* from, uint64_t count,
                   IdMapBucket* segment);

// Splits the segment `from`: entries whose hash has `bit`, a power of two, go to the segment `one`,
// others to `zero`. Overwrites both. `zero` may be `from`; otherwise `from` does not change.
// Returns the number of entries in `one`. REQUIRES: segments have a multiple of kIdMapRun buckets.
int32_t split_entries(const IdMapKernels& kernels, const IdMapView& map, const IdMapBucket* from,
                      uint64_t bit, IdMapBucket* zero, IdMapBucket* one);

}  // namespace millrace

#endif  // MILLRACE_EMBEDDING_ID_MAP_SEGMENT_FILLING_H_
