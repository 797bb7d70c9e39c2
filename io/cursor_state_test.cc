#include "io/cursor_state.h"

#include <gtest/gtest.h>

#include <limits>
#include <vector>

#include "base/status_matchers.h"

namespace millrace {
namespace {

TEST(CursorState, GoesThereAndBack) {
  for (const Cursor& cursor : {Cursor{}, Cursor{3, {{0, 5}}, 7},
                               Cursor{std::numeric_limits<int64_t>::max(),
                                      {{1, 2}, {4, 9}, {10, std::numeric_limits<int64_t>::max()}},
                                      std::numeric_limits<uint64_t>::max()},
                               Cursor{0, {{0, 2}}, 7, 12}, Cursor{0, {}, 7, 12, true}}) {
    ASSERT_OK_AND_ASSIGN(const Cursor back, from_state(to_state(cursor)));
    EXPECT_EQ(back, cursor);
  }
}

TEST(CursorState, PartsOfAMixToo) {
  Cursor mix;
  mix.epoch = 2;
  mix.batches = 31;
  mix.parts = {Cursor{2, {{0, 5}}, 7}, Cursor{int64_t{2} << 32, {}, 8}};
  mix.parts[1].parts = {Cursor{(int64_t{2} << 32) + 1, {{3, 4}}, 8}};
  ASSERT_OK_AND_ASSIGN(const Cursor back, from_state(to_state(mix)));
  EXPECT_EQ(back, mix);
  mix.parts[1].parts[0].rows_left = {{5, 5}};
  EXPECT_THAT(from_state(to_state(mix)), StatusIs(absl::StatusCode::kDataLoss));
  mix.parts[1].parts[0] = mix.parts[0];
  mix.parts[1].parts[0].parts = {mix.parts[0]};
  EXPECT_THAT(from_state(to_state(mix)), StatusIs(absl::StatusCode::kDataLoss));
  Cursor negative;
  negative.batches = -1;
  EXPECT_THAT(from_state(to_state(negative)), StatusIs(absl::StatusCode::kDataLoss));
}

TEST(CursorState, RefusesWhatIsNoCursor) {
  const Cursor bad[] = {{0, {{5, 5}}, 0},
                        {0, {{5, 3}}, 0},
                        {0, {{0, 3}, {3, 4}}, 0},
                        {0, {{4, 6}, {0, 1}}, 0},
                        {0, {{-1, 3}}, 0}};
  for (const Cursor& cursor : bad) {
    EXPECT_THAT(from_state(to_state(cursor)), StatusIs(absl::StatusCode::kDataLoss));
  }
  EXPECT_THAT(from_state(to_state({0, {}, 0, -1})), StatusIs(absl::StatusCode::kDataLoss));
  CursorState state = to_state({0, {{0, 1}}, 0});
  state.add_begin(7);
  EXPECT_THAT(from_state(state), StatusIs(absl::StatusCode::kDataLoss));
}

// Of 10^9 examples, after the number of ranks changed again and again: each change may cut what a
// rank has left in two, and a cursor stays far below 64 KiB.
TEST(CursorState, IsSmallWhateverTheDataAndItsHistory) {
  constexpr int64_t kRows = 1000000000;
  std::vector<RowInterval> left = {{0, kRows}};
  for (const int world_size : {64, 48, 100, 7, 33, 64, 5, 80, 3, 17}) {
    std::vector<RowInterval> after;
    for (int rank = 0; rank < world_size; ++rank) {
      Cursor cursor;
      cursor.rows_left = deal_rows(left, rank, world_size);
      ASSERT_LT(to_state(cursor).SerializeAsString().size(), 64u << 10);
      // A rank reads a part of its share, each another one.
      std::vector<RowInterval>& own = cursor.rows_left;
      if (!own.empty()) own.front().begin += (own.front().end - own.front().begin) * rank / 200;
      after.insert(after.end(), own.begin(), own.end());
    }
    left = after;
  }
  EXPECT_GT(left.size(), 64u) << "there was a history";
}

}  // namespace
}  // namespace millrace
