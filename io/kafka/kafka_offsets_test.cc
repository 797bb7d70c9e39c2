#include "io/kafka/kafka_offsets.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <vector>

namespace millrace {
namespace {

using ::testing::ElementsAre;
using Ranges = std::vector<KafkaOffsets>;

std::vector<int64_t> sizes_of(const Ranges& ranges) {
  std::vector<int64_t> sizes;
  for (const KafkaOffsets& range : ranges) sizes.push_back(range.end - range.begin);
  return sizes;
}

TEST(KafkaOffsetsTest, CutsToEqualShares) {
  const auto sizes_after_cut = [](int64_t limit, Ranges ranges) {
    cut(limit, &ranges);
    return sizes_of(ranges);
  };
  EXPECT_THAT(sizes_after_cut(9, {{0, 10}, {0, 1}, {0, 0}}), ElementsAre(8, 1, 0));
  EXPECT_THAT(sizes_after_cut(9, {{0, 2}, {0, 10}, {0, 10}}), ElementsAre(2, 4, 3));
  EXPECT_THAT(sizes_after_cut(9, {{2, 3}, {0, 4}, {0, 4}}), ElementsAre(1, 4, 4));
  EXPECT_THAT(sizes_after_cut(20, {{0, 2}, {0, 10}}), ElementsAre(2, 10));
  EXPECT_THAT(sizes_after_cut(5, {}), ElementsAre());
}

TEST(KafkaOffsetsTest, NoPartitionStarvesWhereAWindowHasFewerRecordsThanPartitions) {
  Ranges ranges = {{0, 4}, {0, 4}, {0, 4}};
  for (int window = 0; window < 6; ++window) {
    Ranges next = ranges;
    cut(2, &next);
    ASSERT_EQ(size_of(next), 2);
    for (size_t i = 0; i < next.size(); ++i) ranges[i].begin = next[i].end;
    const std::vector<int64_t> left = sizes_of(ranges);
    EXPECT_LE(
        *std::max_element(left.begin(), left.end()) - *std::min_element(left.begin(), left.end()),
        2)
        << "after window " << window;
  }
  EXPECT_EQ(size_of(ranges), 0);
}

// Two brokers with the same records report other ends, none of them too high.
TEST(KafkaOffsetsTest, SharesDoNotDependOnTheReportedEnds) {
  std::mt19937 random(1);
  const auto below = [&](int64_t end) { return static_cast<int64_t>(random() % end); };
  for (int round = 0; round < 2000; ++round) {
    const int64_t limit = 1 + below(40);
    Ranges all(1 + below(5));
    for (KafkaOffsets& range : all) {
      range.begin = below(20);
      range.end = range.begin + below(30);
    }
    std::vector<std::vector<int64_t>> shares;
    for (int broker = 0; broker < 2; ++broker) {
      Ranges ranges = all;
      for (KafkaOffsets& range : ranges) range.end -= below(range.end - range.begin + 1);
      const int64_t needed = needed_for_cut(limit, ranges);
      for (size_t i = 0; i < ranges.size(); ++i) {
        ranges[i].end = std::max(ranges[i].end, std::min(all[i].end, ranges[i].begin + needed));
      }
      cut(limit, &ranges);
      shares.push_back(sizes_of(ranges));
    }
    ASSERT_EQ(shares[0], shares[1]) << "round " << round;
  }
}

}  // namespace
}  // namespace millrace
