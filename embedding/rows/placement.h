// The rank of a job that holds the row of an id.
#ifndef MILLRACE_EMBEDDING_ROWS_PLACEMENT_H_
#define MILLRACE_EMBEDDING_ROWS_PLACEMENT_H_

#include <cstdint>

#include "base/hash.h"

namespace millrace {

// The number of equal parts of the range of placement hashes. Each part is on one rank.
inline constexpr int kPlacementParts = 1024;

// Returns the part of an id, in [0, kPlacementParts): the upper bits of placement_hash.
constexpr int placement_part(int64_t id) { return static_cast<int>(placement_hash(id) >> 54); }

// The share of one rank in every table: a range of parts, which is a range of placement hashes. The
// ranges of all ranks are disjoint and cover all hashes. If kPlacementParts is no multiple of
// `world_size`, some ranks have one part more than others.
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

  // Returns the first part of a rank; kPlacementParts for rank `world_size`.
  static constexpr int first_part(int rank, int world_size) {
    return (rank * kPlacementParts + world_size - 1) / world_size;
  }
  // Return the lowest and the highest placement hash of this rank.
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
