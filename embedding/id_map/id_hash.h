// A seeded hash of ids.
#ifndef MILLRACE_EMBEDDING_ID_MAP_ID_HASH_H_
#define MILLRACE_EMBEDDING_ID_MAP_ID_HASH_H_

#include <cstdint>

#include "base/hash.h"
#include "embedding/id_map/id_hash_secrets.h"

namespace millrace {

// A hash function of a family, selected by the seed. Adds a secret (xor); then, three times,
// multiplies by a secret odd number and adds the upper half of the product to its lower half (xor).
// Every bit of the id affects every bit of the hash, and different ids have different hashes.
// Multiplications have 64 bits, which vector instructions offer.
// The seed protects against collisions built on purpose, even with knowledge of this code: a secret
// enters before any operation that could cancel differences of ids. Independent of placement_hash,
// since ids may arrive in the order of placement_hash, or from one rank, where its upper bits are
// equal.
class IdHash {
 public:
  explicit constexpr IdHash(uint64_t seed)
      : secrets_{secret(seed, 1), {secret(seed, 2) | 1, secret(seed, 3) | 1, secret(seed, 4) | 1}} {
  }

  constexpr uint64_t operator()(int64_t id) const { return hash_id(secrets_, id); }

  // Returns the parameters of hash_id(), which is the same function, for kernels.
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
