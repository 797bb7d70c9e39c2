#include "base/checksum/crc32c.h"

#include <isa-l.h>

#include <algorithm>
#include <bit>

namespace millrace {

uint32_t crc32c(absl::string_view bytes) {
  constexpr size_t kMostBytes = 1 << 30;  // the library counts in int
  uint32_t crc = ~uint32_t{0};
  while (!bytes.empty()) {
    const size_t count = std::min(bytes.size(), kMostBytes);
    // The library takes a pointer to mutable bytes, but does not change them.
    crc = crc32_iscsi(reinterpret_cast<unsigned char*>(const_cast<char*>(bytes.data())),
                      static_cast<int>(count), crc);
    bytes.remove_prefix(count);
  }
  return ~crc;
}

uint32_t masked_crc32c(absl::string_view bytes) {
  return std::rotr(crc32c(bytes), 15) + 0xa282ead8u;
}

}  // namespace millrace
