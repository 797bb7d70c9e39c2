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
  cursor.rows_left = {{2, 5}};
  cursor.fingerprint = 7;
  cursor.window = 2;
  leave_window(third_window(), cursor);
  EXPECT_THAT(cursor.rows_left, IsEmpty());
  EXPECT_EQ(cursor.window, 3);
  EXPECT_TRUE(cursor.window_finished);
  EXPECT_EQ(cursor.stream, "after-3");
  EXPECT_EQ(cursor.epoch, 1);
  EXPECT_EQ(cursor.fingerprint, 7);
}

TEST(WindowCursorTest, ARankWithNothingLeftIsInTheWindowStill) {
  const Cursor cursor = nothing_left(1, third_window(), 7);
  EXPECT_THAT(cursor.rows_left, IsEmpty());
  EXPECT_EQ(cursor.epoch, 1);
  EXPECT_EQ(cursor.window, 3);
  EXPECT_FALSE(cursor.window_finished);
  EXPECT_EQ(cursor.stream, "after-3");
  EXPECT_EQ(cursor.fingerprint, 7);
}

}  // namespace
}  // namespace millrace
