// A seeded hash of ids.
#ifndef MILLRACE_EMBEDDING_ID_HASH_H_
#define MILLRACE_EMBEDDING_ID_HASH_H_

#include <cstdint>

#include "base/hash.h"

namespace millrace {

// One function of a family, picked by the seed: twice a secret is added (xor), the sum multiplied
// by a secret odd number, and the halves of the 128-bit product folded, so that every bit of the id
// reaches every bit of the hash. Whoever does not know the seed cannot build ids that collide,
// though he knows this code. Apart from placement_hash on purpose: ids may arrive sorted by that
// one, or be those of one rank, which have its upper bits in common.
class IdHash {
 public:
  explicit constexpr IdHash(uint64_t seed)
      : secrets_{secret(seed, 1), secret(seed, 2), secret(seed, 3) | 1, secret(seed, 4) | 1} {}

  constexpr uint64_t operator()(int64_t id) const {
    const uint64_t once = fold(static_cast<uint64_t>(id) ^ secrets_[0], secrets_[2]);
    return fold(once ^ secrets_[1], secrets_[3]);
  }

 private:
  static constexpr uint64_t fold(uint64_t a, uint64_t b) {
    const auto product = static_cast<unsigned __int128>(a) * b;
    return static_cast<uint64_t>(product >> 64) ^ static_cast<uint64_t>(product);
  }
  static constexpr uint64_t secret(uint64_t seed, uint64_t number) {
    const uint64_t mixed = placement_hash(static_cast<int64_t>(seed ^ 0x243f6a8885a308d3ULL));
    return placement_hash(static_cast<int64_t>(mixed + number * 0x9e3779b97f4a7c15ULL));
  }

  uint64_t secrets_[4];
};

}  // namespace millrace

#endif  // MILLRACE_EMBEDDING_ID_HASH_H_
