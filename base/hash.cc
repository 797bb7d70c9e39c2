#include "base/hash.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace millrace {

uint64_t xxh3(absl::string_view text, uint64_t seed) {
  return XXH3_64bits_withSeed(text.data(), text.size(), seed);
}

namespace {

absl::uint128 to_uint128(XXH128_hash_t hash) { return absl::MakeUint128(hash.high64, hash.low64); }

constexpr char kDigits[] = "0123456789abcdef";

}  // namespace

absl::uint128 xxh3_128(absl::string_view bytes) {
  return to_uint128(XXH3_128bits(bytes.data(), bytes.size()));
}

struct Xxh3Stream::State {
  XXH3_state_t state;
};

Xxh3Stream::Xxh3Stream() : state_(std::make_unique<State>()) { XXH3_128bits_reset(&state_->state); }

Xxh3Stream::~Xxh3Stream() = default;

void Xxh3Stream::update(absl::string_view bytes) {
  XXH3_128bits_update(&state_->state, bytes.data(), bytes.size());
}

absl::uint128 Xxh3Stream::digest() const { return to_uint128(XXH3_128bits_digest(&state_->state)); }

std::string format_digest(absl::uint128 digest) {
  std::string text(32, '0');
  for (int i = 31; i >= 0; --i) {
    text[i] = kDigits[static_cast<int>(digest & 15)];
    digest >>= 4;
  }
  return text;
}

std::optional<absl::uint128> parse_digest(absl::string_view text) {
  if (text.size() != 32) return std::nullopt;
  absl::uint128 digest = 0;
  for (const char c : text) {
    const size_t digit = absl::string_view(kDigits).find(c);
    if (digit == absl::string_view::npos) return std::nullopt;
    digest = digest << 4 | digit;
  }
  return digest;
}

std::string digest_bytes(absl::uint128 digest) {
  std::string bytes(16, '\0');
  for (int i = 15; i >= 0; --i) {
    bytes[i] = static_cast<char>(static_cast<uint8_t>(digest & 255));
    digest >>= 8;
  }
  return bytes;
}

}  // namespace millrace
