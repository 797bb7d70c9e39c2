#include "io/cursor_state.h"

#include <google/protobuf/text_format.h>
#include <gtest/gtest.h>

#include <limits>
#include <vector>

#include "base/status_matchers.h"

namespace millrace {
namespace {

using Rows = std::vector<RowInterval>;

TEST(CursorState, GoesThereAndBack) {
  for (const Cursor& cursor :
       {Cursor{}, Cursor{3, Rows{{0, 5}}, 7},
        Cursor{std::numeric_limits<int64_t>::max(),
               Rows{{1, 2}, {4, 9}, {10, std::numeric_limits<int64_t>::max()}},
               std::numeric_limits<uint64_t>::max()},
        Cursor{0, Rows{{0, 2}}, 7, StreamPosition{12}},
        Cursor{0, Rows{}, 7, StreamPosition{12, true, "after"}},
        Cursor{0, Rows{}, 7, StreamPosition{0}}}) {
    ASSERT_OK_AND_ASSIGN(const Cursor back, from_state(to_state(cursor)));
    EXPECT_EQ(back, cursor);
  }
}

TEST(CursorState, PositionsInAMixToo) {
  MixPosition mix{.batches = 31};
  const int64_t pass = int64_t{2} << 32;
  mix.sources = {{{2, {{0, 5}}, 7}}, {{pass, {}, 8}, {pass + 1, {{3, 4}}, 8}}};
  const auto back = [&mix] { return from_state(to_state(Cursor{.epoch = 2, .left = mix})); };
  ASSERT_OK_AND_ASSIGN(const Cursor same, back());
  EXPECT_EQ(same, (Cursor{.epoch = 2, .left = mix}));
  mix.sources[1][1].rows_left = {{5, 5}};
  EXPECT_THAT(back(), StatusIs(absl::StatusCode::kDataLoss));
  mix.sources[1].pop_back();
  mix.batches = -1;
  EXPECT_THAT(back(), StatusIs(absl::StatusCode::kDataLoss));
}

// The messages are from former versions, in which a cursor had the fields of all kinds of data.
TEST(CursorState, ReadsAndWritesTheMessagesOfFormerVersions) {
  const std::string text =
      "epoch: 2 fingerprint: 9 window: 4 window_finished: true stream: \"w\" batches: 31 "
      "part { epoch: 2 begin: 0 end: 5 fingerprint: 7 } "
      "part { epoch: 8 fingerprint: 8 part { epoch: 9 begin: 3 end: 4 fingerprint: 8 } }";
  CursorState state;
  ASSERT_TRUE(google::protobuf::TextFormat::ParseFromString(text, &state));
  ASSERT_OK_AND_ASSIGN(const Cursor cursor, from_state(state));
  EXPECT_EQ(cursor.stream, (StreamPosition{4, true, "w"}));
  ASSERT_NE(cursor.mix(), nullptr);
  EXPECT_EQ(cursor.mix()->batches, 31);
  ASSERT_EQ(cursor.mix()->sources.size(), 2u);
  EXPECT_EQ(cursor.mix()->sources[1].size(), 2u);
  EXPECT_EQ(to_state(cursor).SerializeAsString(), state.SerializeAsString());
}

TEST(CursorState, RefusesMessagesThatAreNoCursor) {
  const Rows bad[] = {{{5, 5}}, {{5, 3}}, {{0, 3}, {3, 4}}, {{4, 6}, {0, 1}}, {{-1, 3}}};
  for (const Rows& rows : bad) {
    EXPECT_THAT(from_state(to_state(Cursor{.left = rows})), StatusIs(absl::StatusCode::kDataLoss));
  }
  EXPECT_THAT(from_state(to_state(Cursor{.stream = StreamPosition{-1}})),
              StatusIs(absl::StatusCode::kDataLoss));
  CursorState state = to_state(Cursor{.left = Rows{{0, 1}}});
  state.add_part();
  EXPECT_THAT(from_state(state), StatusIs(absl::StatusCode::kDataLoss)) << "rows and sources";
  state.clear_part();
  state.add_begin(7);
  EXPECT_THAT(from_state(state), StatusIs(absl::StatusCode::kDataLoss));
  CursorState nested;
  nested.add_part()->add_part()->add_part();
  EXPECT_THAT(from_state(nested), StatusIs(absl::StatusCode::kDataLoss));
}

// A cursor of 10^9 examples after repeated changes of the number of ranks: each change may cut what
// a rank has left in two, and a cursor stays far below 64 KiB.
TEST(CursorState, IsSmallWhateverTheDataAndItsHistory) {
  constexpr int64_t kRows = 1000000000;
  std::vector<RowInterval> left = {{0, kRows}};
  for (const int world_size : {64, 48, 100, 7, 33, 64, 5, 80, 3, 17}) {
    std::vector<RowInterval> after;
    for (int rank = 0; rank < world_size; ++rank) {
      Rows own = deal_rows(left, rank, world_size);
      ASSERT_LT(to_state(Cursor{.left = own}).SerializeAsString().size(), 64u << 10);
      // A rank reads a part of its share, each another one.
      if (!own.empty()) own.front().begin += (own.front().end - own.front().begin) * rank / 200;
      after.insert(after.end(), own.begin(), own.end());
    }
    left = after;
  }
  EXPECT_GT(left.size(), 64u) << "there was a history";
}

}  // namespace
}  // namespace millrace
