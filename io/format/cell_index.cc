// Compiled once for each instruction set: see //bazel:isa_kernels.bzl for what may be included.
// The method is simdjson's (Langdale and Lemire 2019): a bit mask for every 64 bytes, whose set
// bits are then written as places, eight at a time.
#include "io/format/cell_index.h"

#include <immintrin.h>

#include <cstdint>

#include "base/isa/isa_namespace.h"

namespace millrace::MILLRACE_ISA {
namespace {

#if defined(__AVX512BW__)

inline uint64_t equal_bytes(const char* text, char byte) {
  return _mm512_cmpeq_epi8_mask(_mm512_loadu_si512(text), _mm512_set1_epi8(byte));
}

#elif defined(__AVX2__)

inline uint64_t equal_half(const char* text, char byte) {
  const __m256i bytes = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(text));
  return static_cast<uint32_t>(
      _mm256_movemask_epi8(_mm256_cmpeq_epi8(bytes, _mm256_set1_epi8(byte))));
}
inline uint64_t equal_bytes(const char* text, char byte) {
  return equal_half(text, byte) | equal_half(text + 32, byte) << 32;
}

#else

inline uint64_t equal_quarter(const char* text, char byte) {
  const __m128i bytes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(text));
  return static_cast<uint32_t>(_mm_movemask_epi8(_mm_cmpeq_epi8(bytes, _mm_set1_epi8(byte))));
}
inline uint64_t equal_bytes(const char* text, char byte) {
  return equal_quarter(text, byte) | equal_quarter(text + 16, byte) << 16 |
         equal_quarter(text + 32, byte) << 32 | equal_quarter(text + 48, byte) << 48;
}

#endif

// The places of all set bits; up to seven more numbers are written behind them.
inline uint32_t* write_places(uint64_t bits, uint32_t first, uint32_t* out) {
  uint32_t* const end = out + __builtin_popcountll(bits);
  for (; out < end; out += 8) {
    for (int i = 0; i < 8; ++i) {
      // Without a bit left the place is of no use, and nobody reads it.
      out[i] = first + static_cast<uint32_t>(__builtin_ctzll(bits | uint64_t{1} << 63));
      bits &= bits - 1;
    }
  }
  return end;
}

}  // namespace

CellCounts index_cells(const char* text, int64_t size, char delimiter, uint32_t* ends,
                       uint32_t* lines) {
  uint32_t* next = ends;
  uint32_t* next_line = lines;
  for (int64_t begin = 0; begin < size; begin += 64) {
    const uint64_t inside = size - begin >= 64 ? ~uint64_t{0} : (uint64_t{1} << (size - begin)) - 1;
    uint64_t feeds = equal_bytes(text + begin, '\n') & inside;
    const uint64_t all = (equal_bytes(text + begin, delimiter) & inside) | feeds;
    for (; feeds != 0; feeds &= feeds - 1) {
      const uint64_t before = (feeds & -feeds) - 1;
      *next_line++ = static_cast<uint32_t>(next - ends + __builtin_popcountll(all & before));
    }
    next = write_places(all, static_cast<uint32_t>(begin), next);
  }
  return {next - ends, next_line - lines};
}

int64_t index_marks(const char* text, int64_t size, char delimiter, uint32_t* places) {
  uint32_t* next = places;
  for (int64_t begin = 0; begin < size; begin += 64) {
    const uint64_t inside = size - begin >= 64 ? ~uint64_t{0} : (uint64_t{1} << (size - begin)) - 1;
    const uint64_t all = equal_bytes(text + begin, '\n') | equal_bytes(text + begin, delimiter) |
                         equal_bytes(text + begin, '"');
    next = write_places(all & inside, static_cast<uint32_t>(begin), next);
  }
  return next - places;
}

}  // namespace millrace::MILLRACE_ISA
