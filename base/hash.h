// Hash functions whose values are part of file formats and results. They never change.
#ifndef MILLRACE_BASE_HASH_H_
#define MILLRACE_BASE_HASH_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "absl/numeric/int128.h"
#include "absl/strings/string_view.h"

namespace millrace {

// Returns the hash that places an id: its high bits determine the owning rank and the order of rows
// in checkpoint files. The function is a bijection on 64 bits with full avalanche: the finalizer
// "Mix13" of D. Stafford, "Better Bit Mixing" (2011), as used by SplitMix64. Every id is legal; 0
// maps to 0.
constexpr uint64_t placement_hash(int64_t id) {
  uint64_t x = static_cast<uint64_t>(id);
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebULL;
  return x ^ (x >> 31);
}

// Returns the id whose placement_hash() is `hash`.
constexpr int64_t inverse_placement_hash(uint64_t hash) {
  uint64_t x = hash;
  x = (x ^ (x >> 31) ^ (x >> 62)) * 0x319642b2d24d8ec3ULL;
  x = (x ^ (x >> 27) ^ (x >> 54)) * 0x96de1b173f119089ULL;
  x = x ^ (x >> 30) ^ (x >> 60);
  return static_cast<int64_t>(x);
}

// Returns XXH3 with 64 bits of the bytes of `text` (https://xxhash.com).
uint64_t xxh3(absl::string_view text, uint64_t seed = 0);

// Returns XXH3 with 128 bits.
absl::uint128 xxh3_128(absl::string_view bytes);

// Computes xxh3_128() of bytes that arrive in pieces. Not thread-safe.
//
//   Xxh3Stream stream;
//   for (const std::string& piece : pieces) stream.update(piece);
//   const absl::uint128 digest = stream.digest();
class Xxh3Stream {
 public:
  Xxh3Stream();
  ~Xxh3Stream();
  Xxh3Stream(const Xxh3Stream&) = delete;
  Xxh3Stream& operator=(const Xxh3Stream&) = delete;

  void update(absl::string_view bytes);
  // Returns the hash of all pieces so far.
  absl::uint128 digest() const;

 private:
  struct State;  // the library's
  std::unique_ptr<State> state_;
};

// format_digest() returns a digest as 32 lower-case hexadecimal digits, the upper bits first;
// parse_digest() reads these digits and returns none for any other text.
std::string format_digest(absl::uint128 digest);
std::optional<absl::uint128> parse_digest(absl::string_view text);
// Returns a digest as 16 bytes, big-endian, in the order of the digits of format_digest().
std::string digest_bytes(absl::uint128 digest);

}  // namespace millrace

#endif  // MILLRACE_BASE_HASH_H_
