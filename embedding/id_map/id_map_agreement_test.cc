#include <algorithm>
#include <cstdint>
#include <random>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "base/hash.h"
#include "base/status_matchers.h"
#include "embedding/id_map/id_map.h"
#include "embedding/id_map/id_map_testing.h"

namespace millrace {
namespace {

// A hostile sequence of ids.
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
  RowCounter counter;
  for (int64_t begin = 0; begin < kCount; begin += 1000) {
    std::vector<int64_t> some(ids.begin() + begin, ids.begin() + begin + 1000);
    insert_rows(map, counter, some);
    // Random ids need 15 at a load of 0.7.
    if (begin % 20000 != 0) continue;
    ASSERT_LE(map.longest_probe(), 50) << map.size();
  }
  EXPECT_EQ(map.size(), kCount);
  const std::vector<RowIndex> rows = find_rows(map, ids);
  for (int64_t i = 0; i < kCount; ++i) ASSERT_EQ(rows[i], i) << ids[i];
  EXPECT_THAT(find_rows(map, others), testing::Each(kNoRow));
  map.erase(ids);
  EXPECT_EQ(map.size(), 0);
  EXPECT_THAT(find_rows(map, ids), testing::Each(kNoRow));
}

INSTANTIATE_TEST_SUITE_P(
    Hostile, IdMapPatternTest,
    testing::Values(
        Pattern{"consecutive", [](int64_t i) { return i; }},
        Pattern{"negative", [](int64_t i) { return -i; }},
        Pattern{"low_bits_equal",
                [](int64_t i) { return static_cast<int64_t>(uint64_t(i) << 40); }},
        Pattern{"top_bits_only", [](int64_t i) { return static_cast<int64_t>(uint64_t(i) << 44); }},
        Pattern{"high_bits_equal", [](int64_t i) { return kLowestId + i; }},
        Pattern{"stride", [](int64_t i) { return i * 4096; }},
        Pattern{"odd_stride", [](int64_t i) { return i * 1000003; }},
        Pattern{"both_ends", [](int64_t i) { return (i & 1023) | (i >> 10) << 54; }},
        Pattern{"reversed_bits",
                [](int64_t i) {
                  uint64_t reversed = 0;
                  for (int bit = 0; bit < 64; ++bit) reversed |= (i >> bit & 1ull) << (63 - bit);
                  return static_cast<int64_t>(reversed);
                }},
        // Ids of one rank, whose placement hashes share upper bits.
        Pattern{"one_rank",
                [](int64_t i) { return inverse_placement_hash((uint64_t{5} << 60) + i); }},
        // Ids that would share a bucket if the factor were the golden ratio.
        Pattern{"multiplicative",
                [](int64_t i) {
                  return static_cast<int64_t>(static_cast<uint64_t>(i) * 0xf1de83e19937733dULL);
                }}),
    [](const auto& info) { return info.param.name; });

// Ids with equal homes can be built from the code and the seed of a map; another map is not
// affected.
TEST(IdMapAgreementTest, AnAdversaryNeedsTheSeed) {
  constexpr uint64_t kSeed = 12345;
  constexpr uint64_t kBucket = 0x7ffc0;  // bits of the hash that select a bucket of a full segment
  const IdHash known(kSeed);
  std::vector<int64_t> ids;
  for (int64_t id = 0; ids.size() < 2000; ++id) {
    if ((known(id) & kBucket) == 0) ids.push_back(id);
  }
  IdMap victim(kSeed), map;
  RowCounter of_victim, of_map;
  insert_rows(victim, of_victim, ids);
  insert_rows(map, of_map, ids);
  EXPECT_GE(victim.longest_probe(), 400);  // four in a bucket
  EXPECT_LE(map.longest_probe(), 20);
}

// Keys come from few or many ids, so that each id is inserted and erased often and the map grows
// and shrinks through many sizes.
void agrees_with_abseil(InstructionSet set, int64_t operations) {
  IdMap map(set);
  absl::flat_hash_map<int64_t, RowIndex> reference;
  std::mt19937_64 random(17);
  uint64_t breadth = 1000;
  auto draw = [&] {
    const auto small = static_cast<int64_t>(random() % breadth);
    switch (random() % 4) {
      case 0: return small;
      case 1: return static_cast<int64_t>(static_cast<uint64_t>(small) << 44);
      case 2: return kLowestId + small;
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
  constexpr int64_t kBatch = 100;
  std::vector<int64_t> ids(kBatch);
  std::vector<RowIndex> rows(kBatch);
  auto row_in_reference = [&](int64_t id) {
    auto found = reference.find(id);
    return found == reference.end() ? kNoRow : found->second;
  };
  for (int64_t round = 0; round < operations / kBatch; ++round) {
    // Alternates phases of growth and of erasing.
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
        NumberingStep step(map);
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
      ASSERT_TRUE(map.is_consistent());
    }
  }
}

TEST(IdMapAgreementTest, AgreesWithAbseil) {
  for (const InstructionSet set : instruction_sets_here()) {
    SCOPED_TRACE(name_of(set));
    agrees_with_abseil(set, set == best_instruction_set() ? 10000000 : 2000000);
    if (HasFatalFailure()) return;
  }
}

}  // namespace
}  // namespace millrace
