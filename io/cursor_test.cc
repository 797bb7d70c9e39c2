#include "io/cursor.h"

#include <vector>

#include "base/status_matchers.h"

namespace millrace {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

TEST(DealRowsTest, CoversEverythingOnceInNearlyEqualShares) {
  const std::vector<RowInterval> intervals = {{3, 10}, {20, 21}, {100, 137}};
  for (int64_t world_size = 1; world_size <= 60; ++world_size) {
    std::vector<int64_t> rows;
    for (int64_t rank = 0; rank < world_size; ++rank) {
      const std::vector<RowInterval> share = deal_rows(intervals, rank, world_size);
      const int64_t count = count_rows(share);
      EXPECT_GE(count, 45 / world_size);
      EXPECT_LE(count, 45 / world_size + 1);
      for (const RowInterval& interval : share) {
        ASSERT_LT(interval.begin, interval.end);
        for (int64_t row = interval.begin; row < interval.end; ++row) rows.push_back(row);
      }
    }
    std::vector<int64_t> expected;
    for (const RowInterval& interval : intervals) {
      for (int64_t row = interval.begin; row < interval.end; ++row) expected.push_back(row);
    }
    EXPECT_EQ(rows, expected) << world_size;
  }
}

TEST(DealRowsTest, JoinsIntervalsThatTouch) {
  EXPECT_THAT(deal_rows(std::vector<RowInterval>{{0, 5}, {5, 9}}, 0, 1),
              ElementsAre(RowInterval{0, 9}));
  EXPECT_THAT(deal_rows({}, 0, 3), IsEmpty());
}

TEST(MergeRowsLeftTest, JoinsWhatRanksHaveLeft) {
  const std::vector<PassPosition> ranks = {{.epoch = 0, .rows_left = {{7, 10}}},
                                           {.epoch = 0, .rows_left = {}},
                                           {.epoch = 0, .rows_left = {{3, 5}, {10, 20}}}};
  EXPECT_THAT(merge_rows_left(ranks, 20),
              IsOkAndHolds(ElementsAre(RowInterval{3, 5}, RowInterval{7, 20})));
}

TEST(MergeRowsLeftTest, RefusesWhatDoesNotFit) {
  auto merge = [](std::vector<RowInterval> a, std::vector<RowInterval> b) {
    return merge_rows_left(
        std::vector<PassPosition>{{.epoch = 0, .rows_left = a}, {.epoch = 0, .rows_left = b}}, 20);
  };
  for (const auto& result : {merge({{0, 5}}, {{4, 6}}), merge({{0, 21}}, {}), merge({{5, 5}}, {}),
                             merge({{-1, 5}}, {}), merge({{6, 5}}, {})}) {
    EXPECT_THAT(result, StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("do not fit")));
  }
}

}  // namespace
}  // namespace millrace
