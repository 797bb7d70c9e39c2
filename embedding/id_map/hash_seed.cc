#include "embedding/id_map/hash_seed.h"

#include <unistd.h>

#include "base/log.h"

namespace millrace {

uint64_t secret_hash_seed() {
  uint64_t seed = 0;
  MILLRACE_CHECK(getentropy(&seed, sizeof seed) == 0);
  return seed;
}

}  // namespace millrace
