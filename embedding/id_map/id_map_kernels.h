// Searches of many ids, one version per instruction set. Kernels include this file, so its includes
// are restricted.
#ifndef MILLRACE_EMBEDDING_ID_MAP_ID_MAP_KERNELS_H_
#define MILLRACE_EMBEDDING_ID_MAP_ID_MAP_KERNELS_H_

#include <cstdint>

#include "base/isa/instruction_set.h"
#include "base/isa/isa_namespace.h"
#include "embedding/id_map/id_map_bucket.h"
#include "embedding/rows/row_index.h"

namespace millrace {

// Powers of two. Homes are found and prefetched kIdMapAhead ids before their comparison, and
// prefetched again kIdMapNear ids before it.
inline constexpr int64_t kIdMapAhead = 64;
inline constexpr int64_t kIdMapNear = 8;
// Ids per block; at most the bits of a mask.
inline constexpr int64_t kIdMapBlock = 32;

// A ring of homes of ids, from two blocks before the current one to the last one found.
struct IdMapHomes {
  static constexpr int64_t kSize = 4 * kIdMapAhead;
  // Id i has index i modulo kSize. The first kIdMapNear homes are repeated after the last.
  IdMapEntry* ring[kSize + kIdMapNear];
};

namespace MILLRACE_ISA {

inline IdMapEntry* home_at(const IdMapHomes& homes, int64_t i) {
  return homes.ring[i & (IdMapHomes::kSize - 1)];
}

}  // namespace MILLRACE_ISA

// A search for the entries of ids, block after block.
struct IdMapSearch {
  const int64_t* ids;
  int64_t count;
  // Id i has index i modulo the size: its entry, or the free entry for its insertion.
  IdMapEntry* located[2 * kIdMapBlock];
  // Id i of the last located block has the home home_at(homes, i).
  IdMapHomes homes;

  // For kernels: a bit for each id of the next block that was not found in its home, which has no
  // free entry.
  uint32_t left;
};

// Buckets of a segment per call of split().
inline constexpr uint64_t kIdMapRun = 64;

// The split of a segment in two.
struct IdMapSplit {
  const IdMapBucket* from;
  IdMapBucket* zero;  // for ids whose hash lacks `bit`; may be `from`
  IdMapBucket* one;   // for all other ids
  uint64_t bit;       // a power of two

  // Results for the last run: the number of entries in `one`, and the entries that were not in
  // their home, which are in neither. Memory after these entries is overwritten.
  int64_t size_of_one;
  int64_t away_count;
  IdMapEntry away[kIdMapRun * kIdMapEntries];
};

// Kernels have equal results on every instruction set.
struct IdMapKernels {
  // Sets rows[i] to the row of ids[i], or kNoRow.
  void (*find)(const IdMapView& map, const int64_t* ids, int64_t count, RowIndex* rows);
  // Begins a search. After entries moved, the search of the remaining ids must begin again.
  void (*start)(const IdMapView& map, IdMapSearch& search);
  // Sets search.located for the block at `begin`. The homes of the block were compared in the
  // previous call; this call compares later buckets. Entries may be inserted between calls.
  // REQUIRES: the previous call was start() or located the previous block; no segment is full.
  void (*locate)(const IdMapView& map, IdMapSearch& search, int64_t begin);
  // Splits the run of buckets at `begin`, a multiple of kIdMapRun, and sets the results. Entries in
  // their home move to the same bucket of `zero` or `one`, in order and without the bucket's bits.
  // The other entries of these buckets are free.
  void (*split)(const IdMapView& map, IdMapSplit& split, uint64_t begin);
};

// Returns the kernels for `set`. REQUIRES: has_instruction_set(set).
const IdMapKernels& id_map_kernels(InstructionSet set);

// The kernels of each instruction set, for id_map_kernels().
namespace baseline {
extern const IdMapKernels kIdMapKernels;
}
namespace avx2 {
extern const IdMapKernels kIdMapKernels;
}
namespace avx512 {
extern const IdMapKernels kIdMapKernels;
}

}  // namespace millrace

#endif  // MILLRACE_EMBEDDING_ID_MAP_ID_MAP_KERNELS_H_
