#include "distributed/agreed_result.h"

#include <memory>
#include <stdexcept>

#include "absl/strings/str_cat.h"
#include "base/failure_kind.h"
#include "base/status_macros.h"
#include "base/status_matchers.h"
#include "distributed/thread_collectives.h"

namespace millrace {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

TEST(AgreedResultTest, EveryRankGetsAll) {
  const auto statuses =
      run_thread_ranks({.world_size = 3}, [](std::unique_ptr<Collectives> ranks) -> absl::Status {
        ASSIGN_OR_RETURN(const std::vector<std::string> all,
                         gather_results(absl::StrCat("r", ranks->rank()), *ranks));
        EXPECT_THAT(all, ElementsAre("r0", "r1", "r2"));
        ASSIGN_OR_RETURN(const std::string first, result_of_first(
                                                      [&]() -> absl::StatusOr<std::string> {
                                                        return absl::StrCat("of ", ranks->rank());
                                                      },
                                                      *ranks));
        EXPECT_EQ(first, "of 0");
        return absl::OkStatus();
      });
  for (const absl::Status& status : statuses) EXPECT_OK(status);
}

TEST(AgreedResultTest, NumbersOfRanksAddUp) {
  const auto statuses =
      run_thread_ranks({.world_size = 3}, [](std::unique_ptr<Collectives> ranks) -> absl::Status {
        const int64_t rank = ranks->rank();
        EXPECT_THAT(sum_over_ranks({rank, -10 * rank}, *ranks), IsOkAndHolds(ElementsAre(3, -30)));
        EXPECT_THAT(sum_over_ranks({}, *ranks), IsOkAndHolds(ElementsAre()));
        const std::vector<int64_t> other(rank == 1 ? 1 : 2);
        EXPECT_THAT(sum_over_ranks(other, *ranks).status(),
                    StatusIs(absl::StatusCode::kInternal, HasSubstr("rank ")));
        return gather_statuses(absl::OkStatus(), *ranks);
      });
  for (const absl::Status& status : statuses) EXPECT_OK(status);
}

TEST(AgreedResultTest, AnErrorIsThatOfAllAndNamesItsRank) {
  const auto statuses =
      run_thread_ranks({.world_size = 3}, [](std::unique_ptr<Collectives> ranks) -> absl::Status {
        absl::StatusOr<std::string> own = std::string("good");
        if (ranks->rank() > 0) {
          own = with_kind(absl::DataLossError(absl::StrCat("disk ", ranks->rank())),
                          FailureKind::kMachine);
        }
        const absl::Status gathered = gather_results(own, *ranks).status();
        EXPECT_THAT(gathered, StatusIs(absl::StatusCode::kDataLoss, "rank 1: disk 1"));
        EXPECT_EQ(kind_of(gathered), FailureKind::kMachine);
        const auto first = result_of_first(
            []() -> absl::StatusOr<std::string> { throw std::runtime_error("odd"); }, *ranks);
        EXPECT_THAT(first.status(), StatusIs(absl::StatusCode::kInternal, HasSubstr("odd")));
        return absl::OkStatus();
      });
  for (const absl::Status& status : statuses) EXPECT_OK(status);
}

}  // namespace
}  // namespace millrace
