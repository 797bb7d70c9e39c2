#include "embedding/id_map.h"

#include <algorithm>
#include <limits>
#include <random>
#include <thread>

#include "absl/container/flat_hash_map.h"
#include "base/hash.h"
#include "base/status_matchers.h"

namespace millrace {
namespace {

using testing::ElementsAre;

constexpr int64_t kLowest = std::numeric_limits<int64_t>::min();
constexpr int64_t kHighest = std::numeric_limits<int64_t>::max();

std::vector<int64_t> range(int64_t begin, int64_t end) {
  std::vector<int64_t> ids(end - begin);
  for (int64_t i = begin; i < end; ++i) ids[i - begin] = i;
  return ids;
}

std::vector<RowIndex> find(const IdMap& map, const std::vector<int64_t>& ids) {
  std::vector<RowIndex> rows(ids.size());
  map.find(ids, absl::MakeSpan(rows));
  // Both ways of asking agree.
  std::vector<uint64_t> hashes(ids.size());
  map.prefetch(ids, absl::MakeSpan(hashes));
  std::vector<RowIndex> again(ids.size());
  map.find(ids, hashes, absl::MakeSpan(again));
  EXPECT_EQ(rows, again);
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

// A step: numbers of distinct rows over several calls.
struct Step {
  explicit Step(IdMap& map) : map(map) {}
  template <typename MakeRow>
  std::vector<uint32_t> look_up(const std::vector<int64_t>& ids, MakeRow&& make_row) {
    std::vector<uint64_t> hashes(ids.size());
    map.prefetch(ids, absl::MakeSpan(hashes));
    std::vector<uint32_t> places(ids.size());
    auto make = [&](int64_t id) { return make_row(id); };
    map.find_or_insert_distinct(ids, hashes, make, distinct, absl::MakeSpan(places));
    return places;
  }
  IdMap& map;
  std::vector<RowIndex> distinct;
};

TEST(IdMapTest, EveryIdIsLegalAndUnknownAtFirst) {
  IdMap map;
  const std::vector<int64_t> ids = {0, -1, 1, kLowest, kHighest};
  EXPECT_THAT(find(map, ids), testing::Each(kNoRow));
  Counter counter;
  EXPECT_THAT(insert(map, counter, ids), ElementsAre(0, 1, 2, 3, 4));
  EXPECT_THAT(find(map, ids), ElementsAre(0, 1, 2, 3, 4));
  EXPECT_EQ(map.size(), 5);
  EXPECT_THAT(find(map, {2, -2, kLowest + 1, kHighest - 1}), testing::Each(kNoRow));
}

// 0 is what the id of a free entry is, too.
TEST(IdMapTest, ZeroIsNotTakenForAnEntryThatIsFilledJustBefore) {
  for (uint64_t seed = 0; seed < 100; ++seed) {
    IdMap map(seed);
    Counter counter;
    std::vector<int64_t> ids = range(1, 32);
    ids.push_back(0);
    const std::vector<RowIndex> rows = insert(map, counter, ids);
    ASSERT_EQ(rows.back(), 31);
    ASSERT_EQ(find(map, ids), rows);
  }
}

TEST(IdMapTest, EveryRowNumberIsLegal) {
  IdMap map;
  std::vector<RowIndex> rows(2);
  const std::vector<int64_t> ids = {0, 8};
  map.find_or_insert(ids, absl::MakeSpan(rows),
                     [](int64_t id) { return id == 0 ? 0 : kNoRow - 1; });
  EXPECT_THAT(find(map, {0, 8, 1}), ElementsAre(0, kNoRow - 1, kNoRow));
}

TEST(IdMapTest, MakesRowsInOrderAndOnceForARepeatedId) {
  IdMap map;
  Counter counter;
  EXPECT_THAT(insert(map, counter, {7, 3, 7, 9, 3}), ElementsAre(0, 1, 0, 2, 1));
  EXPECT_THAT(counter.ids, ElementsAre(7, 3, 9));
}

TEST(IdMapTest, NothingForNoIds) {
  IdMap map;
  Counter counter;
  EXPECT_THAT(insert(map, counter, {}), testing::IsEmpty());
  EXPECT_THAT(find(map, {}), testing::IsEmpty());
  Step step(map);
  EXPECT_THAT(step.look_up({}, counter), testing::IsEmpty());
  EXPECT_THAT(step.distinct, testing::IsEmpty());
  map.erase({});
  EXPECT_EQ(map.size(), 0);
}

TEST(IdMapTest, RefusedIdsAreNotInsertedAndAskedForAgain) {
  IdMap map;
  std::vector<int64_t> asked;
  auto odd_ones = [&](int64_t id) -> RowIndex {
    asked.push_back(id);
    return id % 2 == 0 ? kNoRow : static_cast<RowIndex>(id);
  };
  std::vector<RowIndex> rows(5);
  const std::vector<int64_t> ids = {2, 3, 2, 4, 3};
  map.find_or_insert(ids, absl::MakeSpan(rows), odd_ones);
  EXPECT_THAT(rows, ElementsAre(kNoRow, 3, kNoRow, kNoRow, 3));
  EXPECT_THAT(asked, ElementsAre(2, 3, 2, 4));
  EXPECT_EQ(map.size(), 1);
  Step step(map);
  EXPECT_THAT(step.look_up({4, 3, 5, 4}, odd_ones), ElementsAre(kNoPlace, 0, 1, kNoPlace));
  EXPECT_THAT(step.distinct, ElementsAre(3, 5));
  EXPECT_THAT(find(map, {2, 3, 4, 5}), ElementsAre(kNoRow, 3, kNoRow, 5));
}

TEST(IdMapTest, AnIdMayBeAdmittedAtItsSecondOccurrence) {
  IdMap map;
  int occurrences = 0;
  Step step(map);
  EXPECT_THAT(step.look_up({8, 8, 8}, [&](int64_t) { return ++occurrences < 2 ? kNoRow : 5; }),
              ElementsAre(kNoPlace, 0, 0));
  EXPECT_EQ(occurrences, 2);
}

TEST(IdMapTest, NumbersDistinctRowsInTheOrderOfTheirFirstOccurrence) {
  IdMap map;
  Counter counter;
  Step step(map);
  EXPECT_THAT(step.look_up({30, 10, 30, 20, 10}, counter), ElementsAre(0, 1, 0, 2, 1));
  EXPECT_THAT(step.distinct, ElementsAre(0, 1, 2));
  EXPECT_THAT(step.look_up({20, 40}, counter), ElementsAre(2, 3));
  // Another step knows nothing of marks of the first.
  Step next(map);
  EXPECT_THAT(next.look_up({40, 50, 10, 40}, counter), ElementsAre(0, 1, 2, 0));
  EXPECT_THAT(next.distinct, ElementsAre(3, 4, 1));
}

TEST(IdMapTest, MarksHoldOverStepsGrowthAndEviction) {
  IdMap map;
  Counter counter;
  std::mt19937_64 random(5);
  for (int number = 0; number < 200; ++number) {
    Step step(map);
    absl::flat_hash_map<RowIndex, uint32_t> place_of_row;
    std::vector<RowIndex> expected;
    for (int call = 0; call < 3; ++call) {
      std::vector<int64_t> ids(700);
      for (int64_t& id : ids) id = static_cast<int64_t>(random() % (1 + 500 * number));
      const std::vector<uint32_t> places = step.look_up(ids, counter);
      const std::vector<RowIndex> rows = find(map, ids);
      for (size_t i = 0; i < ids.size(); ++i) {
        const auto end = static_cast<uint32_t>(expected.size());
        const auto [entry, is_new] = place_of_row.emplace(rows[i], end);
        if (is_new) expected.push_back(rows[i]);
        ASSERT_EQ(places[i], entry->second);
      }
      ASSERT_EQ(step.distinct, expected);
    }
    if (number % 50 == 49) map.erase(range(0, 20000));
  }
}

TEST(IdMapTest, GrowsOneByOneThroughEverySize) {
  IdMap map;
  Counter counter;
  constexpr int64_t kCount = 150000;  // past 512 KiB, and several splits
  int64_t bytes = 0;
  for (int64_t i = 0; i < kCount; ++i) {
    insert(map, counter, {i * i});
    ASSERT_EQ(map.size(), i + 1);
    // After each growth everything is still there.
    if (map.bytes() == bytes) continue;
    bytes = map.bytes();
    for (int64_t j = 0; j <= i; j += 1 + i / 1000) {
      ASSERT_THAT(find(map, {j * j}), ElementsAre(static_cast<RowIndex>(j)));
    }
  }
  for (int64_t i = 0; i < kCount; ++i) {
    ASSERT_THAT(find(map, {i * i}), ElementsAre(static_cast<RowIndex>(i)));
  }
}

TEST(IdMapTest, HashesStayValidOverGrowth) {
  IdMap map;
  Counter counter;
  const std::vector<int64_t> ids = range(0, 200000);
  std::vector<uint64_t> hashes(ids.size());
  map.prefetch(ids, absl::MakeSpan(hashes));
  std::vector<uint32_t> places(ids.size());
  std::vector<RowIndex> distinct;
  auto make_row = [&](int64_t id) { return counter(id); };
  map.find_or_insert_distinct(ids, hashes, make_row, distinct, absl::MakeSpan(places));
  EXPECT_EQ(distinct.size(), ids.size());
  std::vector<RowIndex> rows(ids.size());
  map.find(ids, hashes, absl::MakeSpan(rows));
  for (size_t i = 0; i < ids.size(); ++i) ASSERT_EQ(rows[i], i);
}

TEST(IdMapTest, EraseForgetsAndIgnoresUnknownIds) {
  IdMap map;
  Counter counter;
  insert(map, counter, {1, 2, 3});
  map.erase({2, 4, 2});
  EXPECT_THAT(find(map, {1, 2, 3}), ElementsAre(0, kNoRow, 2));
  EXPECT_EQ(map.size(), 2);
  EXPECT_THAT(insert(map, counter, {2}), ElementsAre(3));
}

TEST(IdMapTest, EraseAtManySizesLeavesTheOthers) {
  for (int64_t count = 1; count < 30000; count = count * 3 / 2 + 1) {
    IdMap map;
    Counter counter;
    const std::vector<int64_t> ids = range(-count / 2, count - count / 2);
    insert(map, counter, ids);
    const int64_t step = std::max<int64_t>(1, count / 50);
    for (int64_t begin = 0; begin < count; begin += step) {
      const int64_t end = std::min(count, begin + step);
      map.erase(absl::MakeSpan(ids).subspan(begin, end - begin));
      ASSERT_EQ(map.size(), count - end);
      const std::vector<RowIndex> rows = find(map, ids);
      for (int64_t i = 0; i < count; ++i) ASSERT_EQ(rows[i], i < end ? kNoRow : i);
    }
  }
}

TEST(IdMapTest, BytesAreWithinWhatTheHeaderSays) {
  IdMap map;
  EXPECT_LE(map.bytes(), 5000) << "a small table is small";
  Counter counter;
  for (int64_t begin = 0; begin < 2000000; begin += 1000) {
    insert(map, counter, range(begin, begin + 1000));
    // A mere beginner has a page, and an arena may have been begun.
    ASSERT_LE(map.bytes(), map.size() * 48 + (2 << 20)) << map.size();
    ASSERT_GE(map.bytes(), map.size() * 22) << map.size();
    ASSERT_LE(map.load(), 0.71);
  }
  EXPECT_LE(map.bytes(), map.size() * 47);
  EXPECT_GE(map.load(), 0.34);
}

TEST(IdMapTest, GivesMemoryBackWhenMostIdsAreErased) {
  IdMap map(/*seed=*/1);  // which segments share a page depends on it
  const int64_t empty_bytes = map.bytes();
  Counter counter;
  constexpr int64_t kCount = 2000000;
  insert(map, counter, range(0, kCount));
  const int64_t full_bytes = map.bytes();
  map.erase(range(kCount / 10, kCount));
  EXPECT_EQ(map.size(), kCount / 10);
  EXPECT_LE(map.bytes(), full_bytes / 2);
  const std::vector<RowIndex> rows = find(map, range(0, kCount / 5));
  for (int64_t i = 0; i < kCount / 5; ++i) ASSERT_EQ(rows[i], i < kCount / 10 ? i : kNoRow);
  map.erase(range(0, kCount));
  EXPECT_EQ(map.size(), 0);
  EXPECT_LE(map.bytes(), empty_bytes + 4096) << "the lists of segments may keep their capacity";
  insert(map, counter, range(0, kCount / 4));
  EXPECT_THAT(find(map, {0, kCount / 4 - 1}), ElementsAre(kCount, kCount + kCount / 4 - 1));
}

TEST(IdMapTest, ClearGivesMemoryBack) {
  IdMap map;
  const int64_t empty_bytes = map.bytes();
  Counter counter;
  insert(map, counter, range(0, 300000));
  EXPECT_GT(map.bytes(), 300000 * 22);
  map.clear();
  EXPECT_EQ(map.bytes(), empty_bytes);
  EXPECT_EQ(map.size(), 0);
  EXPECT_THAT(find(map, {0}), ElementsAre(kNoRow));
  EXPECT_THAT(insert(map, counter, {0}), ElementsAre(300000));
}

TEST(IdMapTest, VisitsEachEntryOnce) {
  IdMap map;
  map.for_each([](int64_t, RowIndex) { FAIL() << "an empty map has no entries"; });
  Counter counter;
  insert(map, counter, range(-70000, 70000));
  map.erase(range(0, 1000));
  std::vector<int> visits(140000);
  map.for_each([&](int64_t id, RowIndex row) {
    ++visits[row];
    EXPECT_EQ(id, static_cast<int64_t>(row) - 70000);
  });
  for (int64_t row = 0; row < 140000; ++row) {
    ASSERT_EQ(visits[row], row >= 70000 && row < 71000 ? 0 : 1) << row;
  }
}

// The seed moves entries about and changes nothing else.
TEST(IdMapTest, ResultsDoNotDependOnTheSeed) {
  auto results = [](IdMap& map) {
    Counter counter;
    std::vector<uint32_t> all;
    std::mt19937_64 random(3);
    for (int number = 0; number < 50; ++number) {
      Step step(map);
      std::vector<int64_t> ids(3000);
      for (int64_t& id : ids) id = static_cast<int64_t>(random() % 100000);
      for (const uint32_t place : step.look_up(ids, counter)) all.push_back(place);
      for (const RowIndex row : step.distinct) all.push_back(row);
      map.erase(absl::MakeSpan(ids).first(500));
    }
    return all;
  };
  IdMap a(1), b(2), c;
  const std::vector<uint32_t> expected = results(a);
  EXPECT_EQ(results(b), expected);
  EXPECT_EQ(results(c), expected);
}

TEST(IdMapTest, ManyThreadsFindAtOnce) {
  IdMap map;
  Counter counter;
  const std::vector<int64_t> ids = range(0, 100000);
  insert(map, counter, ids);
  std::vector<std::vector<RowIndex>> rows(4);
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      rows[t] = find(map, ids);
      map.for_each([&](int64_t id, RowIndex row) { ASSERT_EQ(rows[t][id], row); });
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (int t = 0; t < 4; ++t) {
    for (size_t i = 0; i < ids.size(); ++i) ASSERT_EQ(rows[t][i], i);
  }
}

// How the i-th id of a hostile sequence looks.
struct Pattern {
  const char* name;
  int64_t (*id)(int64_t i);
};

class IdMapPatternTest : public testing::TestWithParam<Pattern> {};

TEST_P(IdMapPatternTest, FindsWhatItHoldsAndNothingElseInAFewProbes) {
  constexpr int64_t kCount = 400000;
  std::vector<int64_t> ids(2 * kCount);
  for (int64_t i = 0; i < 2 * kCount; ++i) ids[i] = GetParam().id(i);
  std::vector<int64_t> others(ids.begin() + kCount, ids.end());
  ids.resize(kCount);
  IdMap map;
  Counter counter;
  for (int64_t begin = 0; begin < kCount; begin += 1000) {
    std::vector<int64_t> some(ids.begin() + begin, ids.begin() + begin + 1000);
    insert(map, counter, some);
    // Random ids need 15 at a load of 0.7.
    if (begin % 20000 != 0) continue;
    ASSERT_LE(map.longest_probe(), 50) << map.size();
  }
  EXPECT_EQ(map.size(), kCount);
  const std::vector<RowIndex> rows = find(map, ids);
  for (int64_t i = 0; i < kCount; ++i) ASSERT_EQ(rows[i], i) << ids[i];
  EXPECT_THAT(find(map, others), testing::Each(kNoRow));
  map.erase(ids);
  EXPECT_EQ(map.size(), 0);
  EXPECT_THAT(find(map, ids), testing::Each(kNoRow));
}

INSTANTIATE_TEST_SUITE_P(
    Hostile, IdMapPatternTest,
    testing::Values(
        Pattern{"consecutive", [](int64_t i) { return i; }},
        Pattern{"negative", [](int64_t i) { return -i; }},
        Pattern{"low_bits_equal",
                [](int64_t i) { return static_cast<int64_t>(uint64_t(i) << 40); }},
        Pattern{"top_bits_only", [](int64_t i) { return static_cast<int64_t>(uint64_t(i) << 44); }},
        Pattern{"high_bits_equal", [](int64_t i) { return kLowest + i; }},
        Pattern{"stride", [](int64_t i) { return i * 4096; }},
        Pattern{"odd_stride", [](int64_t i) { return i * 1000003; }},
        Pattern{"both_ends", [](int64_t i) { return (i & 1023) | (i >> 10) << 54; }},
        Pattern{"reversed_bits",
                [](int64_t i) {
                  uint64_t reversed = 0;
                  for (int bit = 0; bit < 64; ++bit) reversed |= (i >> bit & 1ull) << (63 - bit);
                  return static_cast<int64_t>(reversed);
                }},
        // Those of one rank: the placement hash agrees in its upper bits.
        Pattern{"one_rank",
                [](int64_t i) { return inverse_placement_hash((uint64_t{5} << 60) + i); }},
        // Those that would share a bucket if the multiplication had the golden ratio.
        Pattern{"multiplicative",
                [](int64_t i) {
                  return static_cast<int64_t>(static_cast<uint64_t>(i) * 0xf1de83e19937733dULL);
                }}),
    [](const auto& info) { return info.param.name; });

// Someone who knows this code, and another map's seed, builds ids that all have the same home
// there.
TEST(IdMapTest, AnAdversaryNeedsTheSeed) {
  const IdHash known(12345);
  std::vector<int64_t> ids;
  for (int64_t id = 0; ids.size() < 30000; ++id) {
    if ((known(id) & 0x3f) == 0) ids.push_back(id);
  }
  IdMap map;
  Counter counter;
  insert(map, counter, ids);
  EXPECT_LE(map.longest_probe(), 50);
}

// Keys drawn from few or many ids, so that each is inserted and erased often and the map grows and
// shrinks through many sizes.
TEST(IdMapTest, AgreesWithAbseil) {
  IdMap map;
  absl::flat_hash_map<int64_t, RowIndex> reference;
  std::mt19937_64 random(17);
  uint64_t breadth = 1000;
  auto draw = [&] {
    const auto small = static_cast<int64_t>(random() % breadth);
    switch (random() % 4) {
      case 0: return small;
      case 1: return static_cast<int64_t>(static_cast<uint64_t>(small) << 44);
      case 2: return kLowest + small;
      default: return -small;
    }
  };
  RowIndex next = 0;
  auto make_row = [&](int64_t id) -> RowIndex {
    if (next % 16 == 7) {  // refused
      ++next;
      return kNoRow;
    }
    EXPECT_TRUE(reference.emplace(id, next).second);
    return next++;
  };
  constexpr int64_t kBatch = 100, kOperations = 10000000;
  std::vector<int64_t> ids(kBatch);
  std::vector<RowIndex> rows(kBatch);
  auto row_in_reference = [&](int64_t id) {
    auto found = reference.find(id);
    return found == reference.end() ? kNoRow : found->second;
  };
  for (int64_t round = 0; round < kOperations / kBatch; ++round) {
    // Phases of growth, and of erasing.
    const bool growing = round / 1000 % 2 == 0;
    if (round % 2000 == 0) breadth = 200 * (1 + random() % (1 << (round / 2000 % 11)));
    for (int64_t& id : ids) id = draw();
    switch (random() % 8) {
      case 0:
      case 1:
        map.find(ids, absl::MakeSpan(rows));
        for (int64_t i = 0; i < kBatch; ++i) ASSERT_EQ(rows[i], row_in_reference(ids[i]));
        break;
      case 2: {
        Step step(map);
        const std::vector<uint32_t> places = step.look_up(ids, make_row);
        for (int64_t i = 0; i < kBatch; ++i) {
          if (places[i] == kNoPlace) continue;
          ASSERT_EQ(step.distinct[places[i]], row_in_reference(ids[i]));
        }
        break;
      }
      case 3:
        map.erase(ids);
        for (const int64_t id : ids) reference.erase(id);
        break;
      default:
        if (growing) {
          map.find_or_insert(ids, absl::MakeSpan(rows), make_row);
          for (int64_t i = 0; i < kBatch; ++i) {
            if (rows[i] == kNoRow) continue;
            ASSERT_EQ(rows[i], reference.at(ids[i]));
          }
        } else {
          map.erase(ids);
          for (const int64_t id : ids) reference.erase(id);
        }
    }
    ASSERT_EQ(map.size(), static_cast<int64_t>(reference.size()));
    if (round % 500 == 499) {
      int64_t visited = 0;
      map.for_each([&](int64_t id, RowIndex row) {
        ++visited;
        ASSERT_EQ(row_in_reference(id), row);
      });
      ASSERT_EQ(visited, map.size());
    }
  }
}

}  // namespace
}  // namespace millrace
