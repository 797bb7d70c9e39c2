// The memory layout of an id map's entries. Kernels include this file, so its includes are
// restricted.
#ifndef MILLRACE_EMBEDDING_ID_MAP_ID_MAP_BUCKET_H_
#define MILLRACE_EMBEDDING_ID_MAP_ID_MAP_BUCKET_H_

#include <cstdint>

#include "base/isa/isa_namespace.h"
#include "embedding/id_map/id_hash_secrets.h"
#include "embedding/rows/row_index.h"

namespace millrace {

// An entry; free if all bytes are zero. The row is stored as its complement, so that kNoRow is
// zero.
struct IdMapEntry {
  int64_t id;
  RowIndex row_complement;
  // The lower 31 bits: the index of the row in a step's list of distinct rows, valid if the list
  // has the row there. The upper bit belongs to the bucket: see IdMapBucket.
  uint32_t mark;
};

inline constexpr int kIdMapEntries = 4;

// A cache line. Entries in use precede free ones. Ids have one of four kinds, given by two bits of
// the hash. The upper bit of the k-th mark is set if ids of kind k may be past this bucket with a
// home at or before it. Such bits are set only while the bucket is full.
struct alignas(64) IdMapBucket {
  IdMapEntry entries[kIdMapEntries];
};

inline constexpr uint32_t kIdMapPassed = uint32_t{1} << 31;

// The search of ids. The upper bits of an id's hash select a segment; lower bits select the id's
// home bucket and its kind. If the home is full, the id is in the next bucket that was not full.
// The last bucket is followed by the first. All buckets between an entry's home and the entry's own
// bucket are full.
struct IdMapView {
  IdMapBucket* const* directory;  // 2^(64 - shift) segments, each aligned to its size
  int shift;
  uint64_t offsets;  // bytes of a segment - 1
  IdHashSecrets secrets;
};

namespace MILLRACE_ISA {

// Returns the entry at an offset in bytes.
inline IdMapEntry* entry_at(IdMapBucket* segment, uint64_t offset) {
  return reinterpret_cast<IdMapEntry*>(reinterpret_cast<uintptr_t>(segment) + offset);
}

// Returns the entry of the home bucket whose mark has the bit of the id's kind. The id belongs to
// the segment.
inline IdMapEntry* home_in(IdMapBucket* segment, const IdMapView& map, uint64_t hash) {
  return entry_at(segment, hash & map.offsets & ~(sizeof(IdMapEntry) - 1));
}

inline IdMapEntry* home_of(const IdMapView& map, uint64_t hash) {
  return home_in(map.directory[hash >> map.shift], map, hash);
}

// Returns the same entry of the bucket `distance` after the home.
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
