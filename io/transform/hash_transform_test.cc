#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "io/transform/hash_functions.h"
#include "io/transform/id_transforms.h"
#include "io/transform/transform_testing.h"

namespace millrace {
namespace {

using ::testing::ElementsAre;

HashTransform murmur(uint64_t seed) {
  HashTransform config;
  config.set_function(HashTransform::MURMUR_HASH);
  config.set_seed(seed);
  return config;
}

int64_t hashed(absl::string_view text) { return static_cast<int64_t>(murmur_hash_64a(text, 9)); }

TEST(HashTransformTest, TextsHashOneByOne) {
  const auto transform = make_hash_transform(murmur(9));
  EXPECT_EQ(transform->takes(), Transform::Takes::kTextOrIntegers);
  const FeatureValues values = apply_to_texts(*transform, {"a", "", "bc"});
  EXPECT_TRUE(values.are_ids);
  EXPECT_THAT(values.list.values, ElementsAre(hashed("a"), hashed(""), hashed("bc")));
}

TEST(HashTransformTest, IntegersHashAsTheirBytes) {
  const auto transform = make_hash_transform(murmur(9));
  const FeatureValues values = apply_to_ids(*transform, id_column({0x0102030405060708}));
  EXPECT_THAT(values.list.values, ElementsAre(hashed("\x08\x07\x06\x05\x04\x03\x02\x01")));
}

}  // namespace
}  // namespace millrace
