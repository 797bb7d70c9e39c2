#include "checkpoint/state/placed_rows.h"

#include <gtest/gtest.h>

#include <memory>

#include "base/status_matchers.h"
#include "distributed/one_rank_collectives.h"
#include "distributed/thread_collectives.h"

namespace millrace {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

// Returns the results of three ranks that read these rows of 10.
std::vector<absl::Status> agreed(const std::vector<int64_t>& here,
                                 const std::vector<absl::Status>& own = {{}, {}, {}},
                                 const std::vector<std::string>& read = {"d", "d", "d"}) {
  return run_thread_ranks({.world_size = 3}, [&](std::unique_ptr<Collectives> ranks) {
    const int rank = ranks->rank();
    return agree_on_loading(own[rank], read[rank],
                            {{"c: table a", here[rank], 10}, {"c: table b", 2, 6}}, *ranks);
  });
}

TEST(PlacedRowsTest, RowsOfAllRanksAreThoseThatAreDue) {
  for (const absl::Status& status : agreed({3, 0, 7})) EXPECT_OK(status);
  for (const absl::Status& status : agreed({3, 0, 6})) {
    EXPECT_THAT(status, StatusIs(absl::StatusCode::kDataLoss,
                                 HasSubstr("c: table a has 9 rows where 10 are due")));
  }
}

TEST(PlacedRowsTest, AllRanksHearOfAnError) {
  for (const absl::Status& status : agreed({3, 0, 7}, {{}, absl::NotFoundError("gone"), {}})) {
    EXPECT_THAT(status, StatusIs(absl::StatusCode::kNotFound,
                                 AllOf(HasSubstr("rank 1"), HasSubstr("gone"))));
  }
}

TEST(PlacedRowsTest, RanksThatReadDifferentThingsAreNamedOnAll) {
  for (const absl::Status& status : agreed({3, 0, 7}, {{}, {}, {}}, {"d", "d", "e"})) {
    EXPECT_THAT(status, StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("rank 2")));
  }
}

TEST(PlacedRowsTest, OneRankHasAllRows) {
  OneRankCollectives alone;
  EXPECT_OK(agree_on_loading(absl::OkStatus(), "", {{"c: table a", 10, 10}}, alone));
  EXPECT_OK(agree_on_loading(absl::OkStatus(), "", {}, alone));
  EXPECT_THAT(agree_on_loading(absl::OkStatus(), "", {{"c: table a", 11, 10}}, alone),
              StatusIs(absl::StatusCode::kDataLoss));
}

}  // namespace
}  // namespace millrace
