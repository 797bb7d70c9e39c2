#include "embedding/id_map/segment_filling.h"

#include <vector>

#include "absl/base/optimization.h"
#include "embedding/id_map/id_hash_secrets.h"

namespace millrace {
namespace {

bool full(const IdMapBucket& bucket) {
  return bucket.entries[kIdMapEntries - 1].row_complement != 0;
}

// Appends an entry to a bucket. REQUIRES: the bucket is not full.
IdMapEntry* append(IdMapBucket& bucket, const IdMapEntry& entry) {
  int in_use = 0;
  for (int e = 0; e < kIdMapEntries - 1; ++e) in_use += bucket.entries[e].row_complement != 0;
  IdMapEntry& free = bucket.entries[in_use];
  free = {entry.id, entry.row_complement, entry.mark & ~kIdMapPassed};
  return &free;
}

}  // namespace

IdMapEntry* place_entry(const IdMapView& map, IdMapBucket* segment, const IdMapEntry& entry,
                        uint64_t hash) {
  IdMapEntry* const home = home_in(segment, map, hash);
  IdMapEntry* here = home;
  for (uint64_t distance = 1; full(*bucket_of(here)); ++distance) {
    here->mark |= kIdMapPassed;
    here = behind(map, home, distance);
  }
  return append(*bucket_of(here), entry);
}

void place_entries(const IdMapView& map, const IdMapBucket* from, uint64_t count,
                   IdMapBucket* segment) {
  for (uint64_t at = 0; at < count; ++at) {
    for (const IdMapEntry& entry : from[at].entries) {
      if (entry.row_complement == 0) break;
      place_entry(map, segment, entry, hash_id(map.secrets, entry.id));
    }
  }
}

int32_t split_entries(const IdMapKernels& kernels, const IdMapView& map, const IdMapBucket* from,
                      uint64_t bit, IdMapBucket* zero, IdMapBucket* one) {
  const uint64_t count = (map.offsets + 1) / sizeof(IdMapBucket);
  IdMapSplit split;
  split.from = from;
  split.zero = zero;
  split.one = one;
  split.bit = bit;
  int64_t size_of_one = 0;
  // Entries that no longer fit into their home, or were past the segment's end: one in 80 when
  // segments split. Reserves ten times as many, since a failed allocation half-way would lose
  // entries.
  std::vector<IdMapEntry> left;
  left.reserve(count * kIdMapEntries / 8);
  for (uint64_t begin = 0; begin < count; begin += kIdMapRun) {
    kernels.split(map, split, begin);
    size_of_one += split.size_of_one;
    // Most of these entries were past a full home, which has room after the split.
    for (int64_t i = 0; i < split.away_count; ++i) {
      const IdMapEntry entry = split.away[i];
      const uint64_t hash = hash_id(map.secrets, entry.id);
      const bool to_one = (hash & bit) != 0;
      size_of_one += to_one;
      IdMapBucket* const segment = to_one ? one : zero;
      IdMapBucket* const home = bucket_of(home_in(segment, map, hash));
      // The home must be split already; otherwise the entry was past the segment's end.
      if (ABSL_PREDICT_TRUE(home < segment + begin + kIdMapRun && !full(*home))) {
        append(*home, entry);
      } else {
        left.push_back(entry);
      }
    }
  }
  for (const IdMapEntry& entry : left) {
    const uint64_t hash = hash_id(map.secrets, entry.id);
    place_entry(map, (hash & bit) != 0 ? one : zero, entry, hash);
  }
  return static_cast<int32_t>(size_of_one);
}

}  // namespace millrace
