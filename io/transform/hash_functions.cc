#include "io/transform/hash_functions.h"

#include <farmhash.h>

#include "base/hash.h"

namespace millrace {
namespace {

uint64_t load_little_endian(const char* bytes, int64_t count) {
  uint64_t value = 0;
  for (int64_t i = 0; i < count; ++i) {
    value |= static_cast<uint64_t>(static_cast<unsigned char>(bytes[i])) << (8 * i);
  }
  return value;
}

}  // namespace

uint64_t murmur_hash_64a(absl::string_view bytes, uint64_t seed) {
  constexpr uint64_t kMultiplier = 0xc6a4a7935bd1e995ULL;
  uint64_t hash = seed ^ (bytes.size() * kMultiplier);
  const char* place = bytes.data();
  const char* const end = place + bytes.size() / 8 * 8;
  for (; place != end; place += 8) {
    uint64_t word = load_little_endian(place, 8) * kMultiplier;
    word = (word ^ (word >> 47)) * kMultiplier;
    hash = (hash ^ word) * kMultiplier;
  }
  if (const int64_t rest = bytes.size() % 8; rest > 0) {
    hash = (hash ^ load_little_endian(place, rest)) * kMultiplier;
  }
  hash = (hash ^ (hash >> 47)) * kMultiplier;
  return hash ^ (hash >> 47);
}

uint64_t hash_bytes(HashTransform::Function function, absl::string_view bytes, uint64_t seed) {
  switch (function) {
    case HashTransform::XXH3: return xxh3(bytes, seed);
    case HashTransform::FARM_HASH: return ::util::Fingerprint64(bytes.data(), bytes.size());
    case HashTransform::MURMUR_HASH: return murmur_hash_64a(bytes, seed);
  }
  return 0;
}

void hash_ids(HashTransform::Function function, uint64_t seed, absl::Span<int64_t> ids) {
  for (int64_t& id : ids) {
    const std::array<char, 8> bytes = little_endian(id);
    id = static_cast<int64_t>(
        hash_bytes(function, absl::string_view(bytes.data(), bytes.size()), seed));
  }
}

void hash_texts(HashTransform::Function function, uint64_t seed, const StringValues& texts,
                absl::Span<int64_t> ids) {
  for (size_t i = 0; i < ids.size(); ++i) {
    ids[i] = static_cast<int64_t>(hash_bytes(function, texts[i], seed));
  }
}

}  // namespace millrace
