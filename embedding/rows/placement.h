// Which rank of a job holds the row of an id.
#ifndef MILLRACE_EMBEDDING_ROWS_PLACEMENT_H_
#define MILLRACE_EMBEDDING_ROWS_PLACEMENT_H_

#include <cstdint>

#include "base/hash.h"

namespace millrace {

// The hashes of ids fall into this many parts of equal size. A part is always on one rank.
inline constexpr int kPlacementParts = 1024;

// Returns the part of an id, 0 to kPlacementParts - 1: the upper bits of placement_hash.
constexpr int placement_part(int64_t id) { return static_cast<int>(placement_hash(id) >> 54); }

// The share of one rank of every table: a range of parts, and so of placement hashes. The ranges of
// all ranks are disjoint and cover all hashes. If 1,024 is no multiple of `world_size`, some ranks
// have one part more than others.
struct Placement {
  // REQUIRES: 0 <= rank < world_size <= kPlacementParts.
  int rank = 0;
  int world_size = 1;

  // Returns the rank that holds the row of an id in a job of `world_size` ranks.
  static constexpr int owner(int64_t id, int world_size) {
    return placement_part(id) * world_size / kPlacementParts;
  }
  constexpr int owner(int64_t id) const { return owner(id, world_size); }
  constexpr bool owns(int64_t id) const { return owner(id) == rank; }

  // Returns the first part of a rank; for `world_size`, kPlacementParts.
  static constexpr int first_part(int rank, int world_size) {
    return (rank * kPlacementParts + world_size - 1) / world_size;
  }
  // Returns the lowest and the highest placement hash of this rank.
  constexpr uint64_t first_hash() const {
    return static_cast<uint64_t>(first_part(rank, world_size)) << 54;
  }
  constexpr uint64_t last_hash() const {
    return (static_cast<uint64_t>(first_part(rank + 1, world_size) - 1) << 54) |
           ((uint64_t{1} << 54) - 1);
  }

  friend constexpr bool operator==(const Placement&, const Placement&) = default;
};

}  // namespace millrace

#endif  // MILLRACE_EMBEDDING_ROWS_PLACEMENT_H_
