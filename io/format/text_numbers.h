// Numbers in text, eight digits at a time within one 64-bit word ("SWAR").
#ifndef MILLRACE_IO_FORMAT_TEXT_NUMBERS_H_
#define MILLRACE_IO_FORMAT_TEXT_NUMBERS_H_

#include <bit>
#include <cstdint>
#include <cstring>

#include "absl/strings/string_view.h"

namespace millrace {

static_assert(std::endian::native == std::endian::little);

// The first `count` bytes at `text`, with as many '0' before them as make eight: the first byte is
// the lowest. No bytes give eight '0'. REQUIRES: 0 <= count <= 8, eight readable bytes.
inline uint64_t load_digits(const char* text, int64_t count) {
  uint64_t bytes;
  std::memcpy(&bytes, text, 8);
  const int vacant =
      static_cast<int>(32 - 4 * count);  // in two halves: a shift by 64 is not defined
  return bytes << vacant << vacant | (0x3030303030303030ULL >> 4 * count >> 4 * count);
}

// Returns true if all eight bytes are decimal digits.
inline bool are_digits(uint64_t bytes) {
  return ((bytes & 0xf0f0f0f0f0f0f0f0ULL) |
          (((bytes + 0x0606060606060606ULL) & 0xf0f0f0f0f0f0f0f0ULL) >> 4)) ==
         0x3333333333333333ULL;
}

// The number that eight digits are. REQUIRES: are_digits(bytes).
inline uint64_t digits_value(uint64_t bytes) {
  bytes -= 0x3030303030303030ULL;
  bytes = bytes * 10 + (bytes >> 8);  // pairs, in every second byte
  return (((bytes & 0x000000ff000000ffULL) * 0x000f424000000064ULL) +
          (((bytes >> 16) & 0x000000ff000000ffULL) * 0x0000271000000001ULL)) >>
         32;
}

// Reads eight hexadecimal digits of either case into their 32 bits. Returns: whether they are any.
inline bool hexadecimal_value(uint64_t bytes, uint64_t* value) {
  constexpr uint64_t kOnes = 0x0101010101010101ULL;
  const uint64_t letter = (bytes >> 6) & kOnes;
  const uint64_t nibbles = (bytes & (kOnes * 0x0f)) + 9 * letter;
  // The upper half of a byte must be that of '0' or, without its case, of 'A'; the value must be
  // below 16, and at least 10 exactly for letters.
  const uint64_t halves =
      (bytes & (kOnes * 0xf0) & ~(letter * 0x20)) ^ (kOnes * 0x30 + letter * 0x10);
  const uint64_t values =
      (nibbles & (kOnes * 0x10)) | ((((nibbles + kOnes * 6) >> 4) ^ letter) & kOnes);
  uint64_t packed = __builtin_bswap64(nibbles);
  packed = (packed | packed >> 4) & 0x00ff00ff00ff00ffULL;
  packed = (packed | packed >> 8) & 0x0000ffff0000ffffULL;
  *value = (packed | packed >> 16) & 0xffffffffULL;
  return (halves | values) == 0;
}

// Each of the following reads `count` bytes at `text` as one number. Returns: whether they are one,
// within the range of the result; none for no bytes. REQUIRES: eight readable bytes behind the
// text.

// Decimal, with - before negative ones.
bool parse_int64(const char* text, int64_t count, int64_t* value);
// Hexadecimal, without 0x, up to 16 digits.
bool parse_hexadecimal(const char* text, int64_t count, uint64_t* value);
// Decimal, as C writes numbers: 12, -0.5, 1e-7, nan, inf. The nearest one; beyond the range,
// infinity.
bool parse_double(const char* text, int64_t count, double* value);

}  // namespace millrace

#endif  // MILLRACE_IO_FORMAT_TEXT_NUMBERS_H_
