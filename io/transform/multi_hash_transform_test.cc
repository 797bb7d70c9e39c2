#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <string>

#include "base/hash.h"
#include "io/transform/hash_functions.h"
#include "io/transform/id_transforms.h"
#include "io/transform/transform_testing.h"

namespace millrace {
namespace {

using ::testing::ElementsAre;

std::string bytes(int64_t id) {
  const std::array<char, 8> text = little_endian(id);
  return std::string(text.data(), text.size());
}

MultiHashTransform config_of(HashTransform::Function function, uint64_t seed, int64_t count,
                             uint64_t divisor) {
  MultiHashTransform config;
  config.set_function(function);
  config.set_seed(seed);
  config.set_count(count);
  config.set_divisor(divisor);
  return config;
}

TEST(MultiHashTransformTest, EachHashHasARangeOfItsOwn) {
  const auto transform = make_multi_hash_transform(config_of(HashTransform::XXH3, 10, 2, 1000));
  EXPECT_EQ(transform->takes(), Transform::Takes::kTextOrIntegers);
  IdColumn column = id_lists({{7}, {}, {-1, 7}});
  column.weights = {0.5, 2, 3};
  const IdColumn made = apply_to_ids(*transform, column).list;
  auto id = [](int64_t value, uint64_t k) {
    return static_cast<int64_t>(k * 1000 + xxh3(bytes(value), 10 + k) % 1000);
  };
  EXPECT_THAT(made.values,
              ElementsAre(id(7, 0), id(7, 1), id(-1, 0), id(-1, 1), id(7, 0), id(7, 1)));
  EXPECT_THAT(made.offsets, ElementsAre(0, 2, 2, 6));
  EXPECT_THAT(made.weights, ElementsAre(0.5, 0.5, 2, 2, 3, 3));
}

TEST(MultiHashTransformTest, TakesTexts) {
  const auto transform = make_multi_hash_transform(config_of(HashTransform::MURMUR_HASH, 3, 3, 50));
  const FeatureValues values = apply_to_texts(*transform, {"a"});
  EXPECT_TRUE(values.are_ids);
  ASSERT_EQ(values.list.values.size(), 3u);
  EXPECT_EQ(values.list.values[2], 100 + static_cast<int64_t>(murmur_hash_64a("a", 5) % 50));
  EXPECT_THAT(values.list.offsets, ElementsAre(0, 3));
}

}  // namespace
}  // namespace millrace
