// The functions of the transforms hash and multi_hash.
#ifndef MILLRACE_IO_TRANSFORM_HASH_FUNCTIONS_H_
#define MILLRACE_IO_TRANSFORM_HASH_FUNCTIONS_H_

#include <array>
#include <cstdint>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "io/column.h"
#include "proto/config.pb.h"

namespace millrace {

// MurmurHash64A of A. Appleby (2008): the 64-bit MurmurHash2, little-endian on every machine.
uint64_t murmur_hash_64a(absl::string_view bytes, uint64_t seed);

// Returns one of the hashes of HashTransform: XXH3 (https://xxhash.com), Fingerprint64 of FarmHash
// (https://github.com/google/farmhash), MurmurHash64A. FARM_HASH ignores the seed.
uint64_t hash_bytes(HashTransform::Function function, absl::string_view bytes, uint64_t seed);

// Returns the bytes as which an integer is hashed.
inline std::array<char, 8> little_endian(int64_t id) {
  std::array<char, 8> bytes;
  for (int i = 0; i < 8; ++i) bytes[i] = static_cast<char>(static_cast<uint64_t>(id) >> (8 * i));
  return bytes;
}

// ids[i] = hash of the 8 little-endian bytes of ids[i].
void hash_ids(HashTransform::Function function, uint64_t seed, absl::Span<int64_t> ids);

// ids[i] = hash of texts[i]. REQUIRES: as many ids as texts.
void hash_texts(HashTransform::Function function, uint64_t seed, const StringValues& texts,
                absl::Span<int64_t> ids);

}  // namespace millrace

#endif  // MILLRACE_IO_TRANSFORM_HASH_FUNCTIONS_H_
