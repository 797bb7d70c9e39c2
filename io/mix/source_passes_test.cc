#include "io/mix/source_passes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <utility>
#include <vector>

#include "base/status_matchers.h"

namespace millrace {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr int64_t kRows = 10;

using Ranks = std::vector<SourcePosition>;

PassPosition pass_at(int64_t pass, std::vector<RowInterval> left) {
  return {.epoch = pass_epoch(3, pass), .rows_left = std::move(left)};
}

SourcePosition at(int64_t pass, std::vector<RowInterval> left) {
  return {pass_at(pass, std::move(left))};
}

absl::StatusOr<SourcePosition> resume(const Ranks& ranks, int64_t rank, int64_t world_size) {
  return resume_passes(ranks, 3, kRows, rank, world_size);
}

TEST(SourcePassesTest, SharesOfAPassCoverItAndGoRound) {
  EXPECT_EQ(pass_epoch(2, 5), (int64_t{2} << 32) + 5);
  for (int64_t pass = 0; pass < 6; ++pass) {
    std::vector<PassPosition> shares(3);
    for (int64_t rank = 0; rank < 3; ++rank) {
      shares[rank].rows_left = pass_share(pass, kRows, rank, 3);
      EXPECT_EQ(shares[rank].rows_left, pass_share(pass + 3, kRows, rank, 3));
      EXPECT_EQ(shares[rank].rows_left, pass_share(pass + 1, kRows, (rank + 2) % 3, 3));
    }
    ASSERT_OK_AND_ASSIGN(const auto all, merge_rows_left(shares, kRows));
    EXPECT_THAT(all, ElementsAre(RowInterval{0, kRows}));
  }
}

TEST(SourcePassesTest, AsManyRanksGoOnWithTheirOwn) {
  const SourcePosition two_passes = {pass_at(1, {{9, 10}}), pass_at(2, {{0, 2}})};
  const Ranks ranks = {two_passes, at(3, {{3, 4}})};
  ASSERT_OK_AND_ASSIGN(const SourcePosition first, resume(ranks, 0, 2));
  EXPECT_EQ(first, two_passes);
  ASSERT_OK_AND_ASSIGN(const SourcePosition second, resume(ranks, 1, 2));
  EXPECT_EQ(second, ranks[1]);
}

// Of each pass what all ranks of `world_size` have left, as far as their positions name it.
std::map<int64_t, int64_t> count_left(const Ranks& ranks, int64_t world_size) {
  std::map<int64_t, int64_t> rows;
  for (int64_t rank = 0; rank < world_size; ++rank) {
    absl::StatusOr<SourcePosition> own = resume(ranks, rank, world_size);
    EXPECT_OK(own);
    if (!own.ok()) continue;
    for (const PassPosition& pass : *own) {
      rows[pass.epoch - pass_epoch(3, 0)] += count_rows(pass.rows_left);
    }
  }
  return rows;
}

TEST(SourcePassesTest, AnotherNumberOfRanksSharesEveryPassThatIsOpenSomewhere) {
  // Rank 0 is at the end of pass 4; rank 1 has begun pass 5 and rank 2 pass 6.
  Ranks ranks;
  ranks.push_back(at(4, {{pass_share(pass_epoch(3, 4), kRows, 0, 3).back().end - 1,
                          pass_share(pass_epoch(3, 4), kRows, 0, 3).back().end}}));
  const auto of_5 = pass_share(pass_epoch(3, 5), kRows, 1, 3);
  ranks.push_back(at(5, {{of_5[0].begin + 1, of_5[0].end}}));
  ranks.push_back(at(6, pass_share(pass_epoch(3, 6), kRows, 2, 3)));
  const int64_t left_of_5 =
      count_rows(of_5) - 1 + count_rows(pass_share(pass_epoch(3, 5), kRows, 0, 3));
  for (const int64_t world_size : {1, 2, 4, 20}) {
    EXPECT_THAT(count_left(ranks, world_size),
                ElementsAre(std::pair(4, 1), std::pair(5, left_of_5), std::pair(6, kRows)));
  }
}

TEST(SourcePassesTest, AnotherNumberOfRanksSharesTheCountsOfBadRows) {
  Ranks ranks = {at(4, {{0, 2}}), at(4, {{5, 7}}), at(5, {{0, 1}})};
  ranks[0].push_back(pass_at(5, {{3, 4}}));
  ranks[1].push_back(pass_at(5, {{8, 9}}));
  ranks[0][0].bad_rows = 7;
  ranks[1][0].bad_rows = 3;
  ranks[0][1].bad_rows = 2;
  ranks[1][1].bad_rows = 1;
  ranks[2][0].bad_rows = 4;
  ASSERT_OK_AND_ASSIGN(const SourcePosition own, resume(ranks, 0, 2));
  ASSERT_EQ(own.size(), 2);
  EXPECT_EQ(own[0].bad_rows, 5);
  EXPECT_EQ(own[1].bad_rows, 3);
}

TEST(SourcePassesTest, SharesOfSharesAreSharedToo) {
  const Ranks ranks = {at(0, {{2, 5}}), at(1, {{0, 1}})};
  Ranks four, three;
  for (int64_t rank = 0; rank < 4; ++rank) four.push_back(*resume(ranks, rank, 4));
  const auto expected = count_left(ranks, 4);
  EXPECT_EQ(expected.at(0), 3);
  for (int64_t rank = 0; rank < 3; ++rank) three.push_back(*resume(four, rank, 3));
  EXPECT_EQ(count_left(four, 3), expected);
  EXPECT_EQ(count_left(three, 7), expected);
}

TEST(SourcePassesTest, RanksThatHaveNothingLeft) {
  const Ranks ranks = {SourcePosition(), at(2, {{3, 4}})};
  EXPECT_THAT(count_left(ranks, 3), ElementsAre(std::pair(2, 1)));
  ASSERT_OK_AND_ASSIGN(const SourcePosition none, resume(ranks, 0, 2));
  EXPECT_THAT(none.front().rows_left, IsEmpty());
  EXPECT_THAT(count_left({SourcePosition()}, 2), ElementsAre(std::pair(0, 0)));
}

TEST(SourcePassesTest, RefusesWhatDoesNotFit) {
  const auto fails = [](const Ranks& ranks, const char* what) {
    EXPECT_THAT(resume(ranks, 0, 1), StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr(what)));
  };
  PassPosition other{.epoch = pass_epoch(4, 0)};
  fails({{other}}, "not of passes of epoch 3");
  other.epoch = 3;
  fails({{other}}, "not of passes of epoch 3");
  fails({{pass_at(1, {}), pass_at(3, {})}}, "not of passes");
  fails({at(0, {{0, 11}})}, "do not fit the data");
  fails({at(0, {{0, 5}}), at(0, {{4, 6}})}, "in two cursors");
  fails({at(0, {}), at(1000, {})}, "1000 passes of a source apart");
}

}  // namespace
}  // namespace millrace
