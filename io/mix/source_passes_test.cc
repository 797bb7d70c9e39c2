#include "io/mix/source_passes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "base/status_matchers.h"

namespace millrace {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr int64_t kRows = 10;

Cursor at(int64_t pass, std::vector<RowInterval> left) {
  Cursor cursor;
  cursor.epoch = pass_epoch(3, pass);
  cursor.rows_left = std::move(left);
  return cursor;
}

absl::StatusOr<Cursor> go_on(const std::vector<std::optional<Cursor>>& cursors, int64_t rank,
                             int64_t world_size) {
  return go_on_in_passes(cursors, 3, kRows, rank, world_size);
}

TEST(SourcePassesTest, SharesOfAPassCoverItAndGoRound) {
  EXPECT_EQ(pass_epoch(2, 5), (int64_t{2} << 32) + 5);
  for (int64_t pass = 0; pass < 6; ++pass) {
    std::vector<Cursor> shares(3);
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
  Cursor with_parts = at(1, {{9, 10}});
  with_parts.parts = {at(2, {{0, 2}})};
  const std::vector<std::optional<Cursor>> cursors = {with_parts, at(3, {{3, 4}})};
  ASSERT_OK_AND_ASSIGN(const Cursor first, go_on(cursors, 0, 2));
  EXPECT_EQ(first, with_parts);
  ASSERT_OK_AND_ASSIGN(const Cursor second, go_on(cursors, 1, 2));
  EXPECT_EQ(second, *cursors[1]);
}

// Of each pass what all ranks of `world_size` have left, as far as their cursors name it.
std::map<int64_t, int64_t> count_left(const std::vector<std::optional<Cursor>>& cursors,
                                      int64_t world_size) {
  std::map<int64_t, int64_t> rows;
  for (int64_t rank = 0; rank < world_size; ++rank) {
    absl::StatusOr<Cursor> own = go_on(cursors, rank, world_size);
    EXPECT_OK(own);
    if (!own.ok()) continue;
    rows[own->epoch - pass_epoch(3, 0)] += count_rows(own->rows_left);
    for (const Cursor& part : own->parts) {
      rows[part.epoch - pass_epoch(3, 0)] += count_rows(part.rows_left);
    }
  }
  return rows;
}

TEST(SourcePassesTest, AnotherNumberOfRanksSharesEveryPassThatIsOpenSomewhere) {
  // Rank 0 is at the end of pass 4; rank 1 has begun pass 5 and rank 2 pass 6.
  std::vector<std::optional<Cursor>> cursors;
  cursors.push_back(at(4, {{pass_share(pass_epoch(3, 4), kRows, 0, 3).back().end - 1,
                            pass_share(pass_epoch(3, 4), kRows, 0, 3).back().end}}));
  const auto of_5 = pass_share(pass_epoch(3, 5), kRows, 1, 3);
  cursors.push_back(at(5, {{of_5[0].begin + 1, of_5[0].end}}));
  cursors.push_back(at(6, pass_share(pass_epoch(3, 6), kRows, 2, 3)));
  const int64_t left_of_5 =
      count_rows(of_5) - 1 + count_rows(pass_share(pass_epoch(3, 5), kRows, 0, 3));
  for (const int64_t world_size : {1, 2, 4, 20}) {
    EXPECT_THAT(count_left(cursors, world_size),
                ElementsAre(std::pair(4, 1), std::pair(5, left_of_5), std::pair(6, kRows)));
  }
}

TEST(SourcePassesTest, SharesOfSharesAreSharedToo) {
  const std::vector<std::optional<Cursor>> cursors = {at(0, {{2, 5}}), at(1, {{0, 1}})};
  std::vector<std::optional<Cursor>> four, three;
  for (int64_t rank = 0; rank < 4; ++rank) four.push_back(*go_on(cursors, rank, 4));
  const auto expected = count_left(cursors, 4);
  EXPECT_EQ(expected.at(0), 3);
  for (int64_t rank = 0; rank < 3; ++rank) three.push_back(*go_on(four, rank, 3));
  EXPECT_EQ(count_left(four, 3), expected);
  EXPECT_EQ(count_left(three, 7), expected);
}

TEST(SourcePassesTest, RanksThatHaveNothingLeft) {
  const std::vector<std::optional<Cursor>> cursors = {std::nullopt, at(2, {{3, 4}})};
  EXPECT_THAT(count_left(cursors, 3), ElementsAre(std::pair(2, 1)));
  ASSERT_OK_AND_ASSIGN(const Cursor none, go_on(cursors, 0, 2));
  EXPECT_THAT(none.rows_left, IsEmpty());
  EXPECT_THAT(count_left({std::nullopt}, 2), ElementsAre(std::pair(0, 0)));
}

TEST(SourcePassesTest, RefusesWhatDoesNotFit) {
  const auto fails = [](const std::vector<std::optional<Cursor>>& cursors, const char* what) {
    EXPECT_THAT(go_on(cursors, 0, 1),
                StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr(what)));
  };
  Cursor other;
  other.epoch = pass_epoch(4, 0);
  fails({other}, "not of passes of epoch 3");
  other.epoch = 3;
  fails({other}, "not of passes of epoch 3");
  Cursor gap = at(1, {});
  gap.parts = {at(3, {})};
  fails({gap}, "not of passes");
  Cursor nested = at(1, {});
  nested.parts = {at(2, {})};
  nested.parts[0].parts = {at(3, {})};
  fails({nested}, "not of passes");
  fails({at(0, {{0, 11}})}, "do not fit the data");
  fails({at(0, {{0, 5}}), at(0, {{4, 6}})}, "in two cursors");
  fails({at(0, {}), at(1000, {})}, "1000 passes of a source apart");
}

}  // namespace
}  // namespace millrace
