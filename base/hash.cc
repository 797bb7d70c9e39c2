#include "base/hash.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace millrace {

uint64_t xxh3(absl::string_view text, uint64_t seed) {
  return XXH3_64bits_withSeed(text.data(), text.size(), seed);
}

}  // namespace millrace
