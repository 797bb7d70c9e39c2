// Seeds of hash tables.
#ifndef MILLRACE_EMBEDDING_ID_MAP_HASH_SEED_H_
#define MILLRACE_EMBEDDING_ID_MAP_HASH_SEED_H_

#include <cstdint>

namespace millrace {

// Returns a random number from the operating system, unknown to others.
uint64_t secret_hash_seed();

}  // namespace millrace

#endif  // MILLRACE_EMBEDDING_ID_MAP_HASH_SEED_H_
