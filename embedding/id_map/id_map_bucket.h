// How an id map's entries lie in memory. Kernels include this, so it is plain.
#ifndef MILLRACE_EMBEDDING_ID_MAP_ID_MAP_BUCKET_H_
#define MILLRACE_EMBEDDING_ID_MAP_ID_MAP_BUCKET_H_

#include <cstdint>

#include "base/isa/isa_namespace.h"
#include "embedding/id_map/id_hash_secrets.h"
#include "embedding/rows/row_index.h"

namespace millrace {

// All bytes zero: free. The row is kept as its complement, so that kNoRow is zero.
struct IdMapEntry {
  int64_t id;
  RowIndex row_complement;
  // The lower 31 bits: index of the row in the list of a step's distinct rows, if that is what
  // stands there. The upper bit is the bucket's: kIdMapPassed.
  uint32_t mark;
};

inline constexpr int kIdMapEntries = 4;

// A cache line. Entries in use come first. Ids are of four kinds, by two bits of their hash; the
// upper bit of the k-th mark says that ids of kind k whose home is this bucket or before may be
// behind it. It is set only while the bucket is full.
struct alignas(64) IdMapBucket {
  IdMapEntry entries[kIdMapEntries];
};

inline constexpr uint32_t kIdMapPassed = uint32_t{1} << 31;

// An id's home is a bucket of the segment that the upper bits of its hash say; lower bits say which
// one, and the id's kind. If it is full, the id is in the next bucket that is not, past the
// segment's end from its beginning: buckets between an entry's home and its own are full.
struct IdMapView {
  IdMapBucket* const* directory;  // 2^(64 - shift) segments, each aligned to its size
  int shift;
  uint64_t offsets;  // bytes of a segment, less one
  IdHashSecrets secrets;
};

namespace MILLRACE_ISA {

// `offset`: in bytes.
inline IdMapEntry* entry_at(IdMapBucket* segment, uint64_t offset) {
  return reinterpret_cast<IdMapEntry*>(reinterpret_cast<uintptr_t>(segment) + offset);
}

// In the home of an id that belongs to the segment, the entry whose mark has the bit of its kind.
inline IdMapEntry* home_in(IdMapBucket* segment, const IdMapView& map, uint64_t hash) {
  return entry_at(segment, hash & map.offsets & ~(sizeof(IdMapEntry) - 1));
}

inline IdMapEntry* home_of(const IdMapView& map, uint64_t hash) {
  return home_in(map.directory[hash >> map.shift], map, hash);
}

// The same in the bucket `distance` behind.
inline IdMapEntry* behind(const IdMapView& map, IdMapEntry* home, uint64_t distance) {
  const auto address = reinterpret_cast<uintptr_t>(home);
  return reinterpret_cast<IdMapEntry*>((address & ~map.offsets) |
                                       ((address + distance * sizeof(IdMapBucket)) & map.offsets));
}

inline IdMapBucket* bucket_of(IdMapEntry* entry) {
  return reinterpret_cast<IdMapBucket*>(reinterpret_cast<uintptr_t>(entry) &
                                        ~(sizeof(IdMapBucket) - 1));
}

}  // namespace MILLRACE_ISA
}  // namespace millrace

#endif  // MILLRACE_EMBEDDING_ID_MAP_ID_MAP_BUCKET_H_
