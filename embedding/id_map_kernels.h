// Looking for many ids at once, for each instruction set. Kernels include this, so it is plain.
#ifndef MILLRACE_EMBEDDING_ID_MAP_KERNELS_H_
#define MILLRACE_EMBEDDING_ID_MAP_KERNELS_H_

#include <cstdint>

#include "base/instruction_set.h"
#include "embedding/id_map_bucket.h"
#include "embedding/row_index.h"

namespace millrace {

// Homes are found, and prefetched, for ids that are this much further than those looked at.
// Powers of two, as the next one.
inline constexpr int64_t kIdMapAhead = 64;
// Ids that are located at once.
inline constexpr int64_t kIdMapBlock = 32;

// Ids that are not in their home, and may be behind.
struct IdMapRest {
  int64_t count;
  int64_t numbers[kIdMapAhead];
  IdMapEntry* homes[kIdMapAhead];
};

// Ids whose entries are asked for, one block after the other.
struct IdMapSearch {
  const int64_t* ids;
  int64_t count;
  IdMapEntry* none;  // stands for no entry
  // The i-th id's is number i modulo the size: its entry; else where it would go, if its home has a
  // free entry; else `none`.
  IdMapEntry* located[2 * kIdMapBlock];

  // For the kernels.
  IdMapEntry* homes[kIdMapAhead] = {};
  IdMapRest rests[2];
  int turn;  // whose it is
};

// The same results on every instruction set.
struct IdMapKernels {
  // rows[i] = the row of ids[i], or kNoRow. hashes null: computed.
  void (*find)(const IdMapView& map, const int64_t* ids, const uint64_t* hashes, int64_t count,
               RowIndex* rows);
  // Begins a search at id number `begin`, also anew after entries moved.
  void (*start)(const IdMapView& map, IdMapSearch& search, int64_t begin);
  // Sets search.located for the block that begins there; it tells of some time since the last call
  // but one. REQUIRES: the call before was for the block before, or to start here.
  void (*locate)(const IdMapView& map, IdMapSearch& search, int64_t begin);
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

#endif  // MILLRACE_EMBEDDING_ID_MAP_KERNELS_H_
