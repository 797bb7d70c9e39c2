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

using ::testing::IsEmpty;

std::string bytes(int64_t id) {
  const std::array<char, 8> text = little_endian(id);
  return std::string(text.data(), text.size());
}

int64_t id(int64_t a, int64_t b) { return static_cast<int64_t>(xxh3(bytes(a) + bytes(b), 77)); }

std::unique_ptr<Transform> cross() {
  CrossTransform config;
  config.set_seed(77);
  return make_cross_transform(config, /*number=*/0);
}

TEST(CrossTransformTest, EveryPairWithWeightsMultiplied) {
  IdColumn other = id_lists({{9}, {5, 6}, {}, {8}});
  other.weights = {1, 2, 3, 4};
  const IdColumn made = apply_to_ids(*cross(), id_lists({{1, 2}, {3}, {}}), other).list;
  EXPECT_THAT(made.values, ElementsAre(id(1, 5), id(1, 6), id(2, 5), id(2, 6)));
  EXPECT_THAT(made.offsets, ElementsAre(0, 4, 4, 4));
  EXPECT_THAT(made.weights, ElementsAre(2, 3, 2, 3));
}

TEST(CrossTransformTest, WithoutWeightsThereAreNone) {
  EXPECT_EQ(cross()->takes(), Transform::Takes::kIntegers);
  const IdColumn made = apply_to_ids(*cross(), id_column({4}), id_column({5})).list;
  EXPECT_THAT(made.values, ElementsAre(id(4, 5)));
  EXPECT_THAT(made.weights, IsEmpty());
}

}  // namespace
}  // namespace millrace
