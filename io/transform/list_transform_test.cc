#include "io/transform/list_transform.h"

#include <limits>
#include <string>

#include "base/hash.h"
#include "base/status_matchers.h"
#include "io/transform/transform.h"

namespace millrace {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

IdColumn lists(std::vector<std::vector<int64_t>> rows) {
  IdColumn column;
  column.rows = static_cast<int64_t>(rows.size());
  column.offsets = {0};
  for (const auto& row : rows) {
    column.values.insert(column.values.end(), row.begin(), row.end());
    column.offsets.push_back(static_cast<int64_t>(column.values.size()));
  }
  return column;
}

IdColumn plain(std::vector<int64_t> values) {
  IdColumn column;
  column.rows = static_cast<int64_t>(values.size());
  column.values = std::move(values);
  return column;
}

std::string bytes(int64_t id) {
  std::string text;
  for (int i = 0; i < 8; ++i) text.push_back(static_cast<char>(id >> (8 * i)));
  return text;
}

TEST(MultiHashTest, EachHashHasARangeOfItsOwn) {
  IdColumn column = lists({{7}, {}, {-1, 7}});
  column.weights = {0.5, 2, 3};
  multi_hash(HashTransform::XXH3, 10, 2, 1000, nullptr, &column);
  auto id = [](int64_t value, uint64_t k) {
    return static_cast<int64_t>(k * 1000 + xxh3(bytes(value), 10 + k) % 1000);
  };
  EXPECT_THAT(column.values,
              ElementsAre(id(7, 0), id(7, 1), id(-1, 0), id(-1, 1), id(7, 0), id(7, 1)));
  EXPECT_THAT(column.offsets, ElementsAre(0, 2, 2, 6));
  EXPECT_THAT(column.weights, ElementsAre(0.5, 0.5, 2, 2, 3, 3));
}

TEST(MultiHashTest, OfTexts) {
  StringValues texts;
  texts.push_back("a");
  IdColumn column = plain({0});
  multi_hash(HashTransform::MURMUR_HASH, 3, 3, 50, &texts, &column);
  ASSERT_EQ(column.values.size(), 3u);
  EXPECT_EQ(column.values[2], 100 + static_cast<int64_t>(murmur_hash_64a("a", 5) % 50));
  EXPECT_THAT(column.offsets, ElementsAre(0, 3));
}

TEST(CrossTest, EveryPairWithWeightsMultiplied) {
  IdColumn column = lists({{1, 2}, {3}, {}});
  IdColumn other = lists({{9}, {5, 6}, {}, {8}});
  other.weights = {1, 2, 3, 4};
  cross(other, 1, 77, &column);
  auto id = [](int64_t a, int64_t b) {
    return static_cast<int64_t>(xxh3(bytes(a) + bytes(b), 77));
  };
  EXPECT_THAT(column.values, ElementsAre(id(1, 5), id(1, 6), id(2, 5), id(2, 6)));
  EXPECT_THAT(column.offsets, ElementsAre(0, 4, 4, 4));
  EXPECT_THAT(column.weights, ElementsAre(2, 3, 2, 3));
  IdColumn one = plain({4});
  cross(plain({5}), 0, 77, &one);
  EXPECT_THAT(one.values, ElementsAre(id(4, 5)));
  EXPECT_THAT(one.weights, IsEmpty());
}

TEST(TruncateTest, FirstOrLastWithTheirWeights) {
  IdColumn column = lists({{1, 2, 3}, {}, {4}});
  column.weights = {10, 20, 30, 40};
  IdColumn last = column;
  truncate(2, TruncateTransform::FIRST, &column);
  EXPECT_THAT(column.values, ElementsAre(1, 2, 4));
  EXPECT_THAT(column.weights, ElementsAre(10, 20, 40));
  EXPECT_THAT(column.offsets, ElementsAre(0, 2, 2, 3));
  truncate(2, TruncateTransform::LAST, &last);
  EXPECT_THAT(last.values, ElementsAre(2, 3, 4));
  EXPECT_THAT(last.weights, ElementsAre(20, 30, 40));
  constexpr int64_t kAll = std::numeric_limits<int64_t>::max();
  truncate(kAll, TruncateTransform::FIRST, &column);
  EXPECT_THAT(column.values, ElementsAre(1, 2, 4));
  truncate(kAll, TruncateTransform::LAST, &last);
  EXPECT_THAT(last.values, ElementsAre(2, 3, 4));
}

TEST(UniqueTest, TheFirstOfEqualOnesStays) {
  IdColumn column = lists({{5, 7, 5, 5}, {7}, {}});
  IdColumn weighted = column;
  weighted.weights = {1, 2, 3, 4, 5};
  unique(&column);
  EXPECT_THAT(column.values, ElementsAre(5, 7, 7));
  EXPECT_THAT(column.offsets, ElementsAre(0, 2, 3, 3));
  EXPECT_THAT(column.weights, IsEmpty());
  unique(&weighted);
  EXPECT_EQ(weighted.values, column.values);
  EXPECT_THAT(weighted.weights, ElementsAre(8, 2, 5));
}

TEST(UniqueTest, LongListsAndShortOnesAgree) {
  std::vector<int64_t> ids;
  for (int64_t i = 0; i < 500; ++i) ids.push_back(i * i % 37);
  IdColumn column = lists({ids});
  column.weights.assign(500, 1);
  unique(&column);
  std::vector<int64_t> expected;
  for (const int64_t id : ids) {
    if (std::find(expected.begin(), expected.end(), id) == expected.end()) expected.push_back(id);
  }
  EXPECT_EQ(column.values, expected);
  float total = 0;
  for (const float weight : column.weights) total += weight;
  EXPECT_EQ(total, 500);
}

TEST(KeepValuesTest, LeavesOutTheOthers) {
  IdColumn column = lists({{1, 2}, {3}});
  column.weights = {4, 5, 6};
  keep_values({1, 1, 1}, &column);
  EXPECT_EQ(column.values.size(), 3u);
  keep_values({0, 1, 0}, &column);
  EXPECT_THAT(column.values, ElementsAre(2));
  EXPECT_THAT(column.weights, ElementsAre(5));
  EXPECT_THAT(column.offsets, ElementsAre(0, 1, 1));
}

}  // namespace
}  // namespace millrace
