// The function of IdHash, for kernels too: plain.
#ifndef MILLRACE_EMBEDDING_ID_HASH_SECRETS_H_
#define MILLRACE_EMBEDDING_ID_HASH_SECRETS_H_

#include <cstdint>

#include "base/isa_namespace.h"

namespace millrace {

// What a seed stands for: two numbers that are added, and two odd ones to multiply with.
struct IdHashSecrets {
  uint64_t added[2];
  uint64_t factors[2];
};

namespace MILLRACE_ISA {

constexpr uint64_t folded_product(uint64_t a, uint64_t b) {
  const auto product = static_cast<unsigned __int128>(a) * b;
  return static_cast<uint64_t>(product >> 64) ^ static_cast<uint64_t>(product);
}

// The same for every instruction set.
constexpr uint64_t hash_id(const IdHashSecrets& secrets, int64_t id) {
  const uint64_t once =
      folded_product(static_cast<uint64_t>(id) ^ secrets.added[0], secrets.factors[0]);
  return folded_product(once ^ secrets.added[1], secrets.factors[1]);
}

}  // namespace MILLRACE_ISA
}  // namespace millrace

#endif  // MILLRACE_EMBEDDING_ID_HASH_SECRETS_H_
