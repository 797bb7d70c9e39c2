// The rank of a job that holds the row of an id.
#ifndef MILLRACE_EMBEDDING_ROWS_PLACEMENT_H_
#define MILLRACE_EMBEDDING_ROWS_PLACEMENT_H_

#include <cstdint>

#include "base/hash.h"

namespace millrace {

// The number of equal parts of the range of placement hashes that a sketch counts separately. Each
// part is on one rank unless Placement::fine.
inline constexpr int kPlacementParts = 1024;
// With more ranks, rows are placed by finer parts if no table has a sketch (Placement::fine).
inline constexpr int kMostCoarseRanks = 128;

// Returns the part of an id, in [0, kPlacementParts): the upper bits of placement_hash.
constexpr int placement_part(int64_t id) { return static_cast<int>(placement_hash(id) >> 54); }

// The share of one rank in every table: a range of placement hashes. The ranges of all ranks are
// disjoint and cover all hashes. A range consists of whole parts, whose number differs by at most 1
// between ranks.
struct Placement {
  // REQUIRES: 0 <= rank < world_size <= kPlacementParts.
  int rank = 0;
  int world_size = 1;
  // If true, the hashes have 2^20 parts in place of 2^10, so that the shares of any two ranks
  // differ by at most 0.2 %. Equal on all ranks.
  bool fine = false;

  // Returns the rank that holds the row of an id in a job of `world_size` ranks, if not `fine`.
  static constexpr int owner(int64_t id, int world_size) {
    return Placement{0, world_size}.owner(id);
  }
  constexpr int owner(int64_t id) const {
    return static_cast<int>((placement_hash(id) >> (64 - bits())) * world_size >> bits());
  }
  constexpr bool owns(int64_t id) const { return owner(id) == rank; }

  // Returns the first part of a rank if not `fine`; kPlacementParts for rank `world_size`.
  static constexpr int first_part(int rank, int world_size) {
    return static_cast<int>(Placement{rank, world_size}.first());
  }
  // Return the lowest and the highest placement hash of this rank.
  constexpr uint64_t first_hash() const { return first() << (64 - bits()); }
  constexpr uint64_t last_hash() const {
    return rank + 1 == world_size ? ~uint64_t{0}
                                  : Placement{rank + 1, world_size, fine}.first_hash() - 1;
  }

  friend constexpr bool operator==(const Placement&, const Placement&) = default;

 private:
  // Returns the number of leading bits of a placement hash that select a part.
  constexpr int bits() const { return fine ? 20 : 10; }
  // Returns the first part of this rank.
  constexpr uint64_t first() const {
    return ((static_cast<uint64_t>(rank) << bits()) + world_size - 1) / world_size;
  }
};

}  // namespace millrace

#endif  // MILLRACE_EMBEDDING_ROWS_PLACEMENT_H_
