// Counter-based random numbers: a number is a pure function of (key, counter), so there is
// no generator state to keep, and any thread may compute any of them.
#ifndef MILLRACE_BASE_RANDOM_PHILOX_H_
#define MILLRACE_BASE_RANDOM_PHILOX_H_

#include <array>
#include <cstdint>

namespace millrace {

// Philox4x32-10 of J. Salmon, M. Moraes, R. Dror, D. Shaw, "Parallel random numbers: as
// easy as 1, 2, 3", SC 2011. Integer arithmetic only: equal on every machine.
using PhiloxBlock = std::array<uint32_t, 4>;

constexpr PhiloxBlock philox(std::array<uint32_t, 2> key, PhiloxBlock counter) {
  constexpr uint64_t kMultiplier0 = 0xD2511F53, kMultiplier1 = 0xCD9E8D57;
  constexpr uint32_t kWeyl0 = 0x9E3779B9, kWeyl1 = 0xBB67AE85;
  for (int round = 0; round < 10; ++round) {
    const uint64_t product0 = kMultiplier0 * counter[0];
    const uint64_t product1 = kMultiplier1 * counter[2];
    counter = {static_cast<uint32_t>(product1 >> 32) ^ counter[1] ^ key[0],
               static_cast<uint32_t>(product1),
               static_cast<uint32_t>(product0 >> 32) ^ counter[3] ^ key[1],
               static_cast<uint32_t>(product0)};
    key = {key[0] + kWeyl0, key[1] + kWeyl1};
  }
  return counter;
}

// Computes the same with 64-bit halves: key = seed, counter = (stream, index).
constexpr PhiloxBlock philox(uint64_t seed, uint64_t stream, uint64_t index) {
  return philox({static_cast<uint32_t>(seed), static_cast<uint32_t>(seed >> 32)},
                {static_cast<uint32_t>(index), static_cast<uint32_t>(index >> 32),
                 static_cast<uint32_t>(stream), static_cast<uint32_t>(stream >> 32)});
}

// Returns one 64-bit number of that block.
constexpr uint64_t philox64(uint64_t seed, uint64_t stream, uint64_t index) {
  const PhiloxBlock block = philox(seed, stream, index);
  return block[0] | static_cast<uint64_t>(block[1]) << 32;
}

// Returns a uniform number in [0, 1): the upper 24 bits times 2^-24, exact in float32.
constexpr float uniform24(uint32_t bits) { return static_cast<float>(bits >> 8) * 0x1p-24f; }

// Returns the standard normal quantile at (bits + ½) / 2³², in double
// (base/random/normal_quantile.h): equal to the last bit on every machine that does not contract
// products.
double normal_quantile(uint32_t bits);

}  // namespace millrace

#endif  // MILLRACE_BASE_RANDOM_PHILOX_H_
