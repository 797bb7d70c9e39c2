#include "base/hash.h"

#include <gtest/gtest.h>

#include <bit>
#include <cstdlib>
#include <limits>
#include <string>

#include "base/random/philox.h"

namespace millrace {
namespace {

// The first outputs of SplitMix64 from seed 0, published with the generator: the finalizer of
// multiples of the golden ratio.
TEST(PlacementHashTest, EqualsTheFinalizerOfSplitMix64) {
  const uint64_t golden = 0x9e3779b97f4a7c15ULL;
  EXPECT_EQ(placement_hash(static_cast<int64_t>(golden)), 0xe220a8397b1dcdafULL);
  EXPECT_EQ(placement_hash(static_cast<int64_t>(2 * golden)), 0x6e789e6aa1b965f4ULL);
  EXPECT_EQ(placement_hash(static_cast<int64_t>(3 * golden)), 0x06c45d188009454fULL);
  EXPECT_EQ(placement_hash(static_cast<int64_t>(4 * golden)), 0xf88bb8a8724c81ecULL);
}

TEST(PlacementHashTest, ZeroStaysZero) { EXPECT_EQ(placement_hash(0), 0u); }

// Golden values of small and extreme ids: file order depends on them for ever.
TEST(PlacementHashTest, GoldenValues) {
  EXPECT_EQ(placement_hash(1), 0x5692161d100b05e5ULL);
  EXPECT_EQ(placement_hash(2), 0xdbd238973a2b148aULL);
  EXPECT_EQ(placement_hash(-1), 0xb4d055fcf2cbbd7bULL);
  EXPECT_EQ(placement_hash(std::numeric_limits<int64_t>::max()), 0x5a682afe7965debdULL);
  EXPECT_EQ(placement_hash(std::numeric_limits<int64_t>::min()), 0x25c26ea579cea98aULL);
}

TEST(PlacementHashTest, InverseUndoesItBothWays) {
  const int64_t extremes[] = {0, 1, -1, std::numeric_limits<int64_t>::min(),
                              std::numeric_limits<int64_t>::max()};
  for (const int64_t id : extremes) EXPECT_EQ(inverse_placement_hash(placement_hash(id)), id);
  for (uint64_t i = 0; i < 100'000; ++i) {
    const int64_t id = static_cast<int64_t>(philox64(7, 0, i));
    ASSERT_EQ(inverse_placement_hash(placement_hash(id)), id);
    const uint64_t hash = philox64(7, 1, i);
    ASSERT_EQ(placement_hash(inverse_placement_hash(hash)), hash);
  }
}

// Flipping any one bit of the id flips each bit of the hash about half of the time.
TEST(PlacementHashTest, Avalanche) {
  constexpr int kSamples = 2000;
  for (int bit = 0; bit < 64; ++bit) {
    int flipped = 0;
    for (uint64_t i = 0; i < kSamples; ++i) {
      const uint64_t id = philox64(3, bit, i);
      flipped += std::popcount(placement_hash(static_cast<int64_t>(id)) ^
                               placement_hash(static_cast<int64_t>(id ^ (1ULL << bit))));
    }
    EXPECT_NEAR(flipped / (64.0 * kSamples), 0.5, 0.02) << "input bit " << bit;
  }
}

TEST(Xxh3Test, PublishedValues) {
  EXPECT_EQ(xxh3(""), 0x2d06800538d394c2ULL);
  EXPECT_EQ(xxh3("abc"), 0x78af5f94892f3950ULL);
}

TEST(Xxh3Test, PublishedValuesOf128Bits) {
  EXPECT_EQ(format_digest(xxh3_128("")), "99aa06d3014798d86001c324468d497f");
  EXPECT_EQ(format_digest(xxh3_128("abc")), "06b05ab6733a618578af5f94892f3950");
}

TEST(Xxh3Test, PiecesGiveTheSame) {
  std::string text;
  for (int i = 0; i < 5000; ++i) text.push_back(static_cast<char>(i * 7));
  for (const size_t piece : {1u, 3u, 64u, 255u, 256u, 257u, 4999u, 5000u}) {
    Xxh3Stream stream;
    for (size_t at = 0; at < text.size(); at += piece) stream.update(text.substr(at, piece));
    EXPECT_EQ(stream.digest(), xxh3_128(text)) << piece;
  }
  EXPECT_EQ(Xxh3Stream().digest(), xxh3_128(""));
}

TEST(DigestTest, TextAndBytes) {
  const absl::uint128 digest = absl::MakeUint128(0x0123456789abcdefULL, 0x00000000000000f0ULL);
  EXPECT_EQ(format_digest(digest), "0123456789abcdef00000000000000f0");
  EXPECT_EQ(parse_digest(format_digest(digest)), digest);
  EXPECT_EQ(digest_bytes(digest),
            std::string("\x01\x23\x45\x67\x89\xab\xcd\xef\0\0\0\0\0\0\0\xf0", 16));
}

TEST(DigestTest, OtherTextsAreNone) {
  const std::string good(32, 'a');
  EXPECT_TRUE(parse_digest(good).has_value());
  EXPECT_EQ(parse_digest(good.substr(1)), std::nullopt);
  EXPECT_EQ(parse_digest(good + "a"), std::nullopt);
  for (const char c : {'A', 'g', ' ', '-', '\0'}) {
    EXPECT_EQ(parse_digest(good.substr(1) + c), std::nullopt) << c;
  }
}

TEST(Xxh3Test, SeedAndEveryByteCount) {
  EXPECT_NE(xxh3("abc", 1), xxh3("abc"));
  EXPECT_NE(xxh3(std::string("a\0b", 3)), xxh3(std::string("a\0c", 3)));
  EXPECT_NE(xxh3(std::string(1, '\0')), xxh3(""));
}

}  // namespace
}  // namespace millrace
