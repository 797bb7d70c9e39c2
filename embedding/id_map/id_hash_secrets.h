// The function of IdHash. Kernels include this file, so its includes are restricted.
#ifndef MILLRACE_EMBEDDING_ID_MAP_ID_HASH_SECRETS_H_
#define MILLRACE_EMBEDDING_ID_MAP_ID_HASH_SECRETS_H_

#include <cstdint>

#include "base/isa/isa_namespace.h"

namespace millrace {

// The parameters derived from a seed: the summand, and odd factors.
struct IdHashSecrets {
  uint64_t added;
  uint64_t factors[3];
};

namespace MILLRACE_ISA {

// Hashes one id, or a vector of ids.
template <typename Word>
constexpr Word hash_words(const IdHashSecrets& secrets, Word ids) {
  Word x = (ids ^ secrets.added) * secrets.factors[0];
  x = (x ^ (x >> 32)) * secrets.factors[1];
  x = (x ^ (x >> 32)) * secrets.factors[2];
  return x ^ (x >> 32);
}

// Hashes one id, with the same result on every instruction set.
constexpr uint64_t hash_id(const IdHashSecrets& secrets, int64_t id) {
  return hash_words(secrets, static_cast<uint64_t>(id));
}

}  // namespace MILLRACE_ISA
}  // namespace millrace

#endif  // MILLRACE_EMBEDDING_ID_MAP_ID_HASH_SECRETS_H_
