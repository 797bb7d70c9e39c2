#include "io/transform/hash_functions.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

namespace millrace {
namespace {

// The self-test of SMHasher (https://github.com/rurban/smhasher): hashes of the keys {}, {0}, {0,
// 1}, ... with seeds 256, 255, ...; then the hash of all those hashes. Its list gives 0x1F0D3804
// for MurmurHash64A.
TEST(MurmurTest, PassesTheVerificationOfSmhasher) {
  std::string hashes, key;
  for (int i = 0; i < 256; ++i) {
    const uint64_t hash = murmur_hash_64a(key, 256 - i);
    for (int byte = 0; byte < 8; ++byte) hashes.push_back(static_cast<char>(hash >> (8 * byte)));
    key.push_back(static_cast<char>(i));
  }
  EXPECT_EQ(static_cast<uint32_t>(murmur_hash_64a(hashes, 0)), 0x1F0D3804u);
}

TEST(HashBytesTest, FarmHashIsFingerprint64) {
  auto farm = [](absl::string_view text) {
    return static_cast<int64_t>(hash_bytes(HashTransform::FARM_HASH, text, 0));
  };
  // The examples in the manual of BigQuery's FARM_FINGERPRINT.
  EXPECT_EQ(farm("1footrue"), -1541654101129638711);
  EXPECT_EQ(farm("2applefalse"), 2794438866806483259);
  EXPECT_EQ(farm("3true"), -4880158226897771312);
}

TEST(HashBytesTest, Xxh3OfNothing) {
  EXPECT_EQ(hash_bytes(HashTransform::XXH3, "", 0), 0x2D06800538D394C2ULL);
  EXPECT_NE(hash_bytes(HashTransform::XXH3, "", 1), 0x2D06800538D394C2ULL);
}

TEST(HashIdsTest, IdsHashAsTheirLittleEndianBytes) {
  for (const auto function :
       {HashTransform::XXH3, HashTransform::FARM_HASH, HashTransform::MURMUR_HASH}) {
    std::vector<int64_t> ids = {0x0102030405060708, -1};
    hash_ids(function, 0, absl::MakeSpan(ids));
    EXPECT_EQ(ids[0],
              static_cast<int64_t>(hash_bytes(function, "\x08\x07\x06\x05\x04\x03\x02\x01", 0)));
    EXPECT_EQ(ids[1], static_cast<int64_t>(hash_bytes(function, std::string(8, '\xff'), 0)));
  }
}

TEST(HashTextsTest, TextsHashOneByOne) {
  StringValues texts;
  texts.push_back("a");
  texts.push_back("");
  texts.push_back("bc");
  std::vector<int64_t> ids(3);
  hash_texts(HashTransform::MURMUR_HASH, 9, texts, absl::MakeSpan(ids));
  EXPECT_EQ(ids[0], static_cast<int64_t>(murmur_hash_64a("a", 9)));
  EXPECT_EQ(ids[2], static_cast<int64_t>(murmur_hash_64a("bc", 9)));
}

}  // namespace
}  // namespace millrace
