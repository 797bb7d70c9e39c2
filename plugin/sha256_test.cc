#include "plugin/sha256.h"

#include <gtest/gtest.h>

#include <string>

namespace millrace {
namespace {

// Examples of FIPS 180-4 (NIST, "Secure Hash Standard Validation System").
TEST(Sha256Test, TakesTheValuesOfTheStandard) {
  EXPECT_EQ(sha256(""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(sha256("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(sha256("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq"),
            "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
  EXPECT_EQ(sha256("abcdefghbcdefghicdefghijdefghijkefghijklfghijklmghijklmnhijklmnoijklmnopjklmno"
                   "pqklmnopqrlmnopqrsmnopqrstnopqrstu"),
            "cf5b16a778af8380036ce59e7b0492370b249b11e8f07a51afac45037afee9d1");
  EXPECT_EQ(sha256(std::string(1000000, 'a')),
            "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

// The length fits into the last block if the block has at most 55 other bytes. The values are from
// sha256sum of coreutils.
TEST(Sha256Test, PadsAroundTheEndOfABlock) {
  EXPECT_EQ(sha256(std::string(55, 'x')),
            "d5e285683cd4efc02d021a5c62014694958901005d6f71e89e0989fac77e4072");
  EXPECT_EQ(sha256(std::string(56, 'x')),
            "04c26261370ee7541549d16dee320c723e3fd14671e66a099afe0a377c16888e");
  EXPECT_EQ(sha256(std::string(63, 'x')),
            "75220b47218278e656f2013bb8f0c455a25eaf01e86c64924e9d48d89776d6f2");
  EXPECT_EQ(sha256(std::string(64, 'x')),
            "7ce100971f64e7001e8fe5a51973ecdfe1ced42befe7ee8d5fd6219506b5393c");
  EXPECT_EQ(sha256(std::string(65, '\xff')),
            "855c9a28fff2bbbd71327165554a00c6fdd44d5d58c1f12b8fdff29b5d67f001");
}

TEST(Sha256Test, KnowsTheFormOfADigest) {
  EXPECT_TRUE(is_sha256(sha256("")));
  EXPECT_TRUE(is_sha256(std::string(64, 'A')));
  EXPECT_FALSE(is_sha256(std::string(63, 'a')));
  EXPECT_FALSE(is_sha256(std::string(65, 'a')));
  EXPECT_FALSE(is_sha256(std::string(63, 'a') + "g"));
}

}  // namespace
}  // namespace millrace
