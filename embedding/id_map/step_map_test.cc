#include "embedding/id_map/step_map.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <random>
#include <unordered_map>
#include <vector>

#include "absl/types/span.h"
#include "embedding/id_map/id_map.h"

namespace millrace {
namespace {

using testing::ElementsAre;

std::vector<uint32_t> add(StepMap& map, std::vector<int64_t>& distinct,
                          const std::vector<int64_t>& ids) {
  std::vector<uint32_t> places(ids.size());
  map.find_or_add(ids, distinct, absl::MakeSpan(places));
  return places;
}

TEST(StepMapTest, NumbersIdsInTheOrderOfTheirFirstOccurrence) {
  StepMap map;
  std::vector<int64_t> distinct;
  EXPECT_THAT(add(map, distinct, {7, -1, 7, 0}), ElementsAre(0, 1, 0, 2));
  EXPECT_THAT(add(map, distinct, {0, std::numeric_limits<int64_t>::min(), -1}),
              ElementsAre(2, 3, 1));
  EXPECT_THAT(distinct, ElementsAre(7, -1, 0, std::numeric_limits<int64_t>::min()));
  EXPECT_EQ(map.size(), 4);
}

TEST(StepMapTest, FindsWithoutAdding) {
  StepMap map;
  std::vector<int64_t> distinct;
  add(map, distinct, {5, 6});
  std::vector<uint32_t> places(2);
  EXPECT_TRUE(map.find({6, 5}, absl::MakeSpan(places)));
  EXPECT_THAT(places, ElementsAre(1, 0));
  EXPECT_FALSE(map.find({6, 9}, absl::MakeSpan(places)));
  EXPECT_THAT(places, ElementsAre(1, kNoPlace));
  EXPECT_EQ(map.size(), 2);
  EXPECT_TRUE(map.find({}, {}));
}

TEST(StepMapTest, AnEmptyMapHasNoId) {
  StepMap map;
  std::vector<uint32_t> places(1);
  EXPECT_FALSE(map.find({0}, absl::MakeSpan(places)));  // the id of entries never set
  std::vector<int64_t> distinct;
  add(map, distinct, {3});
  map.clear();
  EXPECT_FALSE(map.find({3}, absl::MakeSpan(places)));
  EXPECT_EQ(map.size(), 0);
}

// Compares with a map of the standard library over many steps, with several kinds of ids.
TEST(StepMapTest, AgreesWithAReferenceOverManySteps) {
  std::mt19937_64 random(5);
  for (const uint64_t stride : {uint64_t{1}, uint64_t{1} << 40, uint64_t{1} << 54}) {
    StepMap map(random());
    for (int step = 0; step < 50; ++step) {
      map.clear();
      std::vector<int64_t> distinct;
      std::unordered_map<int64_t, uint32_t> expected;
      const int calls = static_cast<int>(random() % 4);
      for (int call = 0; call < calls; ++call) {
        std::vector<int64_t> ids(random() % (step % 10 == 9 ? 5000 : 200));
        for (int64_t& id : ids) id = static_cast<int64_t>(random() % 700 * stride);
        const std::vector<uint32_t> places = add(map, distinct, ids);
        for (size_t i = 0; i < ids.size(); ++i) {
          const auto place =
              expected.emplace(ids[i], static_cast<uint32_t>(expected.size())).first->second;
          ASSERT_EQ(places[i], place);
        }
      }
      ASSERT_EQ(map.size(), static_cast<int64_t>(expected.size()));
      for (const auto& [id, place] : expected) ASSERT_EQ(distinct[place], id);
      std::vector<uint32_t> found(distinct.size());
      EXPECT_TRUE(map.find(distinct, absl::MakeSpan(found)));
      for (size_t i = 0; i < found.size(); ++i) ASSERT_EQ(found[i], i);
    }
  }
}

TEST(StepMapTest, KeepsItsMemory) {
  StepMap map;
  std::vector<int64_t> ids(10000), distinct;
  for (size_t i = 0; i < ids.size(); ++i) ids[i] = static_cast<int64_t>(i);
  add(map, distinct, ids);
  const int64_t bytes = map.bytes();
  for (int step = 0; step < 100; ++step) {
    map.clear();
    distinct.clear();
    add(map, distinct, ids);
  }
  EXPECT_EQ(map.bytes(), bytes);
  EXPECT_LE(bytes, 64 * 10000);
}

}  // namespace
}  // namespace millrace
