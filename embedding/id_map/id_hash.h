// A seeded hash of ids.
#ifndef MILLRACE_EMBEDDING_ID_MAP_ID_HASH_H_
#define MILLRACE_EMBEDDING_ID_MAP_ID_HASH_H_

#include <cstdint>

#include "base/hash.h"
#include "embedding/id_map/id_hash_secrets.h"

namespace millrace {

// One function of a family, picked by the seed: a secret is added (xor); then, three times, the
// number is multiplied by a secret odd one and its upper half added to its lower half. So every bit
// of the id reaches every bit of the hash, and different ids have different hashes. Multiplications
// have 64 bits, as vectors have those. Whoever does not know the seed cannot build ids that
// collide, though he knows this code: a secret comes before all that could make differences vanish.
// Apart from placement_hash on purpose: ids may arrive sorted by that one, or be those of one rank,
// which have its upper bits in common.
class IdHash {
 public:
  explicit constexpr IdHash(uint64_t seed)
      : secrets_{secret(seed, 1), {secret(seed, 2) | 1, secret(seed, 3) | 1, secret(seed, 4) | 1}} {
  }

  constexpr uint64_t operator()(int64_t id) const { return hash_id(secrets_, id); }

  // For kernels: hash_id of these is the same function.
  const IdHashSecrets& secrets() const { return secrets_; }

 private:
  static constexpr uint64_t secret(uint64_t seed, uint64_t number) {
    const uint64_t mixed = placement_hash(static_cast<int64_t>(seed ^ 0x243f6a8885a308d3ULL));
    return placement_hash(static_cast<int64_t>(mixed + number * 0x9e3779b97f4a7c15ULL));
  }

  IdHashSecrets secrets_;
};

}  // namespace millrace

#endif  // MILLRACE_EMBEDDING_ID_MAP_ID_HASH_H_
