// Looking for many ids at once, for each instruction set. Kernels include this, so it is plain.
#ifndef MILLRACE_EMBEDDING_ID_MAP_ID_MAP_KERNELS_H_
#define MILLRACE_EMBEDDING_ID_MAP_ID_MAP_KERNELS_H_

#include <cstdint>

#include "base/isa/instruction_set.h"
#include "base/isa/isa_namespace.h"
#include "embedding/id_map/id_map_bucket.h"
#include "embedding/rows/row_index.h"

namespace millrace {

// Powers of two. Homes are found, and prefetched, for ids that are this much further than those
// looked at, and prefetched again, to be near, when they are that much further.
inline constexpr int64_t kIdMapAhead = 64;
inline constexpr int64_t kIdMapNear = 8;
// Ids that are located at once; no more than the bits of a mask.
inline constexpr int64_t kIdMapBlock = 32;

// Homes of ids, from two blocks before the one looked at to those that are approached.
struct IdMapHomes {
  static constexpr int64_t kSize = 4 * kIdMapAhead;
  // The i-th id's is number i modulo the size; the first ones come again behind the last.
  IdMapEntry* ring[kSize + kIdMapNear];
};

namespace MILLRACE_ISA {

inline IdMapEntry* home_at(const IdMapHomes& homes, int64_t i) {
  return homes.ring[i & (IdMapHomes::kSize - 1)];
}

}  // namespace MILLRACE_ISA

// Ids whose entries are asked for, one block after the other.
struct IdMapSearch {
  const int64_t* ids;
  int64_t count;
  // The i-th id's is number i modulo the size: its entry, or else the free one where it would go.
  IdMapEntry* located[2 * kIdMapBlock];
  // Of the block that was located last, the i-th id's home is home_at(homes, i).
  IdMapHomes homes;

  // For the kernels: a bit for each id of the next block whose home is full of others.
  uint32_t left;
};

// Buckets of a segment that are split at once.
inline constexpr uint64_t kIdMapRun = 64;

// A segment that is split in two.
struct IdMapSplit {
  const IdMapBucket* from;
  IdMapBucket* zero;  // for ids whose hash lacks the bit; may be `from`
  IdMapBucket* one;   // for the others
  uint64_t bit;       // a power of two

  // Of the run that was split last: how many entries went to `one`, and those that went nowhere, as
  // they were not in their home. What comes behind these is overwritten.
  int64_t size_of_one;
  int64_t away_count;
  IdMapEntry away[kIdMapRun * kIdMapEntries];
};

// The same results on every instruction set.
struct IdMapKernels {
  // rows[i] = the row of ids[i], or kNoRow.
  void (*find)(const IdMapView& map, const int64_t* ids, int64_t count, RowIndex* rows);
  // Begins a search; after entries moved, those of the other ids begin anew.
  void (*start)(const IdMapView& map, IdMapSearch& search);
  // Sets search.located for the block that begins there: homes are looked at in the call before,
  // buckets behind them now; entries may come meanwhile. REQUIRES: the call before was for the
  // block before, or to start; no segment is full.
  void (*locate)(const IdMapView& map, IdMapSearch& search, int64_t begin);
  // Splits the run of buckets that begins there, a multiple of kIdMapRun, and sets what is said of
  // it: entries in their home go to the same bucket of `zero` or `one`, in order and without the
  // bits that are the bucket's; nothing else is left in those.
  void (*split)(const IdMapView& map, IdMapSplit& split, uint64_t begin);
};

// REQUIRES: has_instruction_set(set).
const IdMapKernels& id_map_kernels(InstructionSet set);

// The tables it chooses from.
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
