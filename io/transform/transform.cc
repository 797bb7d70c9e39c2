#include "io/transform/transform.h"

#include <farmhash.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "base/hash.h"
#include "io/transform/log1p_kernels.h"

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
    char bytes[8];
    for (int i = 0; i < 8; ++i) bytes[i] = static_cast<char>(static_cast<uint64_t>(id) >> (8 * i));
    id = static_cast<int64_t>(hash_bytes(function, absl::string_view(bytes, 8), seed));
  }
}

void hash_texts(HashTransform::Function function, uint64_t seed, const StringValues& texts,
                absl::Span<int64_t> ids) {
  for (size_t i = 0; i < ids.size(); ++i) {
    ids[i] = static_cast<int64_t>(hash_bytes(function, texts[i], seed));
  }
}

void modulo_ids(uint64_t divisor, absl::Span<int64_t> ids) {
  for (int64_t& id : ids) id = static_cast<int64_t>(static_cast<uint64_t>(id) % divisor);
}

void bucketize(absl::Span<const double> boundaries, absl::Span<const double> numbers,
               absl::Span<int64_t> ids) {
  for (size_t i = 0; i < ids.size(); ++i) {
    ids[i] =
        std::upper_bound(boundaries.begin(), boundaries.end(), numbers[i]) - boundaries.begin();
  }
}

void signed_log1p(absl::Span<double> numbers) {
  static const SignedLog1p kernel = signed_log1p_kernel(best_instruction_set());
  kernel(numbers.data(), static_cast<int64_t>(numbers.size()));
}

void clip(double min, double max, absl::Span<double> numbers) {
  for (double& x : numbers) x = std::clamp(x, min, max);
}

void threshold(double at_least, absl::Span<double> numbers) {
  for (double& x : numbers) x = x >= at_least ? 1 : 0;
}

}  // namespace millrace
