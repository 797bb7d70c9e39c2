#include "io/window/window_cursor.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace millrace {
namespace {

using testing::IsEmpty;

Window third_window() {
  Window window;
  window.index = 3;
  window.stream = "after-3";
  return window;
}

TEST(WindowCursorTest, LeavingAWindowKeepsWhatIsOfTheEpoch) {
  Cursor cursor;
  cursor.epoch = 1;
  cursor.left = std::vector<RowInterval>{{2, 5}};
  cursor.fingerprint = 7;
  cursor.stream = {.window = 2};
  leave_window(third_window(), cursor);
  EXPECT_THAT(cursor.rows_left(), IsEmpty());
  EXPECT_EQ(cursor.stream, (StreamPosition{3, true, "after-3"}));
  EXPECT_EQ(cursor.epoch, 1);
  EXPECT_EQ(cursor.fingerprint, 7);
}

TEST(WindowCursorTest, ARankWithNothingLeftIsInTheWindowStill) {
  const Window window = third_window();
  const Cursor cursor = nothing_left(1, &window, 7);
  EXPECT_THAT(cursor.rows_left(), IsEmpty());
  EXPECT_EQ(cursor.epoch, 1);
  EXPECT_EQ(cursor.stream, (StreamPosition{3, false, "after-3"}));
  EXPECT_TRUE(is_in_window(cursor, &window));
  EXPECT_FALSE(is_in_window(cursor, nullptr));
  EXPECT_EQ(cursor.fingerprint, 7);
}

TEST(WindowCursorTest, DataWithoutWindowsIsInNone) {
  const Window window = third_window();
  const Cursor cursor = nothing_left(1, nullptr, 7);
  EXPECT_FALSE(cursor.stream.has_value());
  EXPECT_TRUE(is_in_window(cursor, nullptr));
  EXPECT_FALSE(is_in_window(cursor, &window));
}

TEST(WindowCursorTest, LeavingAWindowKeepsThePositionInAMix) {
  Cursor cursor;
  cursor.left = MixPosition{.batches = 3};
  leave_window(third_window(), cursor);
  EXPECT_EQ(cursor.left, (std::variant<std::vector<RowInterval>, MixPosition>(MixPosition{3})));
}

}  // namespace
}  // namespace millrace
