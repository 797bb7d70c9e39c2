// Many counter-based random numbers at once. Kernels include this header, so it includes no other
// header.
#ifndef MILLRACE_BASE_RANDOM_PHILOX_BLOCKS_H_
#define MILLRACE_BASE_RANDOM_PHILOX_BLOCKS_H_

#include <cstdint>

#include "base/isa/isa_namespace.h"

namespace millrace::MILLRACE_ISA {

// Computes Philox4x32-10 (base/random/philox.h) of kBlocks counters that differ only in their first
// word: word w of the block of counter (first + b, counter[0], counter[1], counter[2]) becomes
// words[w][b]. Compilers generate vector code.
template <int kBlocks>
void philox_blocks(const uint32_t key[2], uint32_t first, const uint32_t counter[3],
                   uint32_t words[4][kBlocks]) {
  uint32_t c0[kBlocks], c1[kBlocks], c2[kBlocks], c3[kBlocks];
  for (int b = 0; b < kBlocks; ++b) {
    c0[b] = first + static_cast<uint32_t>(b);
    c1[b] = counter[0];
    c2[b] = counter[1];
    c3[b] = counter[2];
  }
  uint32_t key0 = key[0], key1 = key[1];
  for (int round = 0; round < 10; ++round) {
#pragma GCC unroll 1  // unrolled, it would not become vector code
    for (int b = 0; b < kBlocks; ++b) {
      const uint64_t product0 = uint64_t{0xD2511F53} * c0[b];
      const uint64_t product1 = uint64_t{0xCD9E8D57} * c2[b];
      c0[b] = static_cast<uint32_t>(product1 >> 32) ^ c1[b] ^ key0;
      c1[b] = static_cast<uint32_t>(product1);
      c2[b] = static_cast<uint32_t>(product0 >> 32) ^ c3[b] ^ key1;
      c3[b] = static_cast<uint32_t>(product0);
    }
    key0 += 0x9E3779B9;
    key1 += 0xBB67AE85;
  }
  for (int b = 0; b < kBlocks; ++b) {
    words[0][b] = c0[b];
    words[1][b] = c1[b];
    words[2][b] = c2[b];
    words[3][b] = c3[b];
  }
}

}  // namespace millrace::MILLRACE_ISA

#endif  // MILLRACE_BASE_RANDOM_PHILOX_BLOCKS_H_
