#include "embedding/id_map.h"

#include <limits>
#include <random>

#include "absl/container/flat_hash_map.h"
#include "base/status_matchers.h"

namespace millrace {
namespace {

constexpr int64_t kLowest = std::numeric_limits<int64_t>::min();
constexpr int64_t kHighest = std::numeric_limits<int64_t>::max();

std::vector<RowIndex> find(const IdMap& map, const std::vector<int64_t>& ids) {
  std::vector<RowIndex> rows(ids.size());
  map.find(ids, absl::MakeSpan(rows));
  return rows;
}

// Gives out 0, 1, 2, ...
class Counter {
 public:
  RowIndex operator()(int64_t id) {
    ids.push_back(id);
    return next++;
  }
  std::vector<int64_t> ids;
  RowIndex next = 0;
};

std::vector<RowIndex> insert(IdMap& map, Counter& counter, const std::vector<int64_t>& ids) {
  std::vector<RowIndex> rows(ids.size());
  map.find_or_insert(ids, absl::MakeSpan(rows), [&](int64_t id) { return counter(id); });
  return rows;
}

TEST(IdMapTest, EveryIdIsLegalAndUnknownAtFirst) {
  IdMap map;
  const std::vector<int64_t> ids = {0, -1, 1, kLowest, kHighest};
  EXPECT_THAT(find(map, ids), testing::Each(kNoRow));
  Counter counter;
  EXPECT_THAT(insert(map, counter, ids), testing::ElementsAre(0, 1, 2, 3, 4));
  EXPECT_THAT(find(map, ids), testing::ElementsAre(0, 1, 2, 3, 4));
  EXPECT_EQ(map.size(), 5);
}

TEST(IdMapTest, MakesRowsInOrderAndOnceForARepeatedId) {
  IdMap map;
  Counter counter;
  EXPECT_THAT(insert(map, counter, {7, 3, 7, 9, 3}), testing::ElementsAre(0, 1, 0, 2, 1));
  EXPECT_THAT(counter.ids, testing::ElementsAre(7, 3, 9));
}

TEST(IdMapTest, NothingForNoIds) {
  IdMap map;
  Counter counter;
  EXPECT_THAT(insert(map, counter, {}), testing::IsEmpty());
  EXPECT_THAT(find(map, {}), testing::IsEmpty());
  map.erase({});
  EXPECT_EQ(map.size(), 0);
}

TEST(IdMapTest, EraseForgetsAndIgnoresUnknownIds) {
  IdMap map;
  Counter counter;
  insert(map, counter, {1, 2, 3});
  const std::vector<int64_t> erased = {2, 4, 2};
  map.erase(erased);
  EXPECT_THAT(find(map, {1, 2, 3}), testing::ElementsAre(0, kNoRow, 2));
  EXPECT_EQ(map.size(), 2);
  EXPECT_THAT(insert(map, counter, {2}), testing::ElementsAre(3));
}

TEST(IdMapTest, ClearGivesMemoryBack) {
  IdMap map;
  const int64_t empty_bytes = map.bytes();
  Counter counter;
  std::vector<int64_t> ids(100000);
  for (size_t i = 0; i < ids.size(); ++i) ids[i] = i;
  insert(map, counter, ids);
  EXPECT_GT(map.bytes(), 100000 * 12);
  map.clear();
  EXPECT_EQ(map.bytes(), empty_bytes);
  EXPECT_THAT(find(map, {0}), testing::ElementsAre(kNoRow));
}

// How the i-th id of a hostile sequence looks.
struct Pattern {
  const char* name;
  int64_t (*id)(int64_t i);
};

class IdMapPatternTest : public testing::TestWithParam<Pattern> {};

TEST_P(IdMapPatternTest, FindsWhatItHolds) {
  constexpr int64_t kCount = 200000;
  std::vector<int64_t> ids(kCount);
  for (int64_t i = 0; i < kCount; ++i) ids[i] = GetParam().id(i);
  IdMap map;
  Counter counter;
  insert(map, counter, ids);
  EXPECT_EQ(map.size(), kCount);
  const std::vector<RowIndex> rows = find(map, ids);
  for (int64_t i = 0; i < kCount; ++i) ASSERT_EQ(rows[i], i) << ids[i];
  map.erase(ids);
  EXPECT_EQ(map.size(), 0);
  EXPECT_THAT(find(map, ids), testing::Each(kNoRow));
}

INSTANTIATE_TEST_SUITE_P(
    Hostile, IdMapPatternTest,
    testing::Values(Pattern{"consecutive", [](int64_t i) { return i; }},
                    Pattern{"negative", [](int64_t i) { return -i; }},
                    Pattern{"low_bits_equal", [](int64_t i) { return i << 40; }},
                    Pattern{"high_bits_equal", [](int64_t i) { return kLowest + i; }},
                    Pattern{"stride", [](int64_t i) { return i * 4096; }},
                    Pattern{"odd_stride", [](int64_t i) { return i * 1000003; }}),
    [](const auto& info) { return info.param.name; });

// A million operations, drawn from few ids so that each is inserted and erased often.
TEST(IdMapTest, AgreesWithAbseil) {
  IdMap map;
  absl::flat_hash_map<int64_t, RowIndex> reference;
  std::mt19937_64 random(17);
  auto draw = [&] {
    const int64_t small = static_cast<int64_t>(random() % 3000);
    switch (random() % 4) {
      case 0:
        return small;
      case 1:
        return small << 50;
      case 2:
        return kLowest + small;
      default:
        return -small;
    }
  };
  RowIndex next = 0;
  constexpr int64_t kBatch = 100;
  std::vector<int64_t> ids(kBatch);
  std::vector<RowIndex> rows(kBatch);
  for (int round = 0; round < 10000; ++round) {
    for (int64_t& id : ids) id = draw();
    switch (random() % 3) {
      case 0:
        map.find(ids, absl::MakeSpan(rows));
        for (int64_t i = 0; i < kBatch; ++i) {
          auto found = reference.find(ids[i]);
          ASSERT_EQ(rows[i], found == reference.end() ? kNoRow : found->second);
        }
        break;
      case 1:
        map.find_or_insert(ids, absl::MakeSpan(rows), [&](int64_t id) {
          EXPECT_TRUE(reference.emplace(id, next).second);
          return next++;
        });
        for (int64_t i = 0; i < kBatch; ++i) ASSERT_EQ(rows[i], reference.at(ids[i]));
        break;
      default:
        map.erase(ids);
        for (const int64_t id : ids) reference.erase(id);
    }
    ASSERT_EQ(map.size(), static_cast<int64_t>(reference.size()));
  }
  int64_t visited = 0;
  map.for_each([&](int64_t id, RowIndex row) {
    ++visited;
    EXPECT_EQ(reference.at(id), row);
  });
  EXPECT_EQ(visited, map.size());
}

}  // namespace
}  // namespace millrace
