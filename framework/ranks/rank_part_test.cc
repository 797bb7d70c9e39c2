#include "framework/ranks/rank_part.h"

#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/status_macros.h"
#include "base/status_matchers.h"
#include "distributed/one_rank_collectives.h"
#include "distributed/thread_collectives.h"

namespace millrace {
namespace {

using ::testing::HasSubstr;

// A part that joins texts and refuses "bad".
class Text : public RankPart {
 public:
  explicit Text(std::string text) : text(std::move(text)) {}
  std::string save() const override { return text; }
  absl::Status load_ranks(absl::Span<const absl::string_view> ranks) override {
    text = absl::StrJoin(ranks, "|");
    if (absl::StrContains(text, "bad")) return absl::DataLossError("bad text");
    return absl::OkStatus();
  }
  std::string text;
};

TEST(RankPartTest, EveryRankGetsTheSameWithOneExchange) {
  std::atomic<int> collectives_begun = 0;
  const ThreadRanksOptions options{.world_size = 3, .inject = [&](const CollectiveCall& call) {
                                     EXPECT_EQ(call.channel, Channel::kData);
                                     ++collectives_begun;
                                     return absl::OkStatus();
                                   }};
  const auto statuses =
      run_thread_ranks(options, [](std::unique_ptr<Collectives> collectives) -> absl::Status {
        Text name(absl::StrCat("rank", collectives->rank()));
        Text some(collectives->rank() == 1 ? "" : std::string("a\0b", 3));
        RETURN_IF_ERROR(merge_ranks(*collectives, {&name, &some}));
        EXPECT_EQ(name.text, "rank0|rank1|rank2");
        EXPECT_EQ(some.text, std::string("a\0b||a\0b", 8));
        return absl::OkStatus();
      });
  for (const absl::Status& status : statuses) EXPECT_OK(status);
  EXPECT_EQ(collectives_begun, 3) << "one for each rank";
}

TEST(RankPartTest, OneRankIsLeftAlone) {
  OneRankCollectives alone;
  Text text("bad");
  ASSERT_OK(merge_ranks(alone, {&text}));
  EXPECT_EQ(text.text, "bad");
}

TEST(RankPartTest, ErrorsAreTheSameOnEveryRank) {
  const auto statuses = run_thread_ranks({}, [](std::unique_ptr<Collectives> collectives) {
    Text text(collectives->rank() == 0 ? "good" : "bad");
    return merge_ranks(*collectives, {&text});
  });
  for (const absl::Status& status : statuses) {
    EXPECT_THAT(status, StatusIs(absl::StatusCode::kDataLoss, "bad text"));
  }
}

TEST(RankPartTest, ARankWithOtherParts) {
  const auto statuses = run_thread_ranks({}, [](std::unique_ptr<Collectives> collectives) {
    Text one("x"), two("y");
    return collectives->rank() == 0 ? merge_ranks(*collectives, {&one, &two})
                                    : merge_ranks(*collectives, {&one});
  });
  EXPECT_THAT(statuses[0], StatusIs(absl::StatusCode::kDataLoss, HasSubstr("rank 1")));
  EXPECT_THAT(statuses[1], StatusIs(absl::StatusCode::kDataLoss, HasSubstr("rank 0")));
}

TEST(RankPartTest, APeerThatDiesIsAnError) {
  const auto statuses =
      run_thread_ranks({}, [](std::unique_ptr<Collectives> collectives) -> absl::Status {
        if (collectives->rank() == 1) return absl::DataLossError("a disk failed");
        Text text("x");
        return merge_ranks(*collectives, {&text});
      });
  EXPECT_THAT(statuses[0], StatusIs(absl::StatusCode::kAborted, HasSubstr("a disk failed")));
}

TEST(GatherCursorsTest, EveryRankGetsAllByRank) {
  const auto statuses =
      run_thread_ranks({.world_size = 3}, [](std::unique_ptr<Collectives> ranks) -> absl::Status {
        Cursor own;
        own.epoch = 10 + ranks->rank();
        ASSIGN_OR_RETURN(const std::vector<Cursor> all, gather_cursors(own, *ranks));
        EXPECT_EQ(all.size(), 3u);
        for (size_t rank = 0; rank < all.size(); ++rank) EXPECT_EQ(all[rank].epoch, 10 + rank);
        return absl::OkStatus();
      });
  for (const absl::Status& status : statuses) EXPECT_OK(status);
}

}  // namespace
}  // namespace millrace
