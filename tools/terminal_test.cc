#include "tools/terminal.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <cstdlib>
#include <limits>

namespace millrace {
namespace {

TEST(TerminalTest, ColumnsFollowTheTerminal) {
  const int terminal = ::posix_openpt(O_RDWR | O_NOCTTY);
  ASSERT_GE(terminal, 0);
  ASSERT_EQ(::unlockpt(terminal), 0);
  EXPECT_EQ(terminal_columns(terminal), 80) << "a new one does not say";
  winsize size = {};
  size.ws_col = 132;
  ASSERT_EQ(::ioctl(terminal, TIOCSWINSZ, &size), 0);
  EXPECT_EQ(terminal_columns(terminal), 132);
  size.ws_col = 40;
  ASSERT_EQ(::ioctl(terminal, TIOCSWINSZ, &size), 0);
  EXPECT_EQ(terminal_columns(terminal), 40);
  EXPECT_EQ(line_columns(terminal), 40);
  ::close(terminal);
}

TEST(TerminalTest, ColorsAreForTerminalsThatKnowThem) {
  const int terminal = ::posix_openpt(O_RDWR | O_NOCTTY);
  ASSERT_GE(terminal, 0);
  ::setenv("TERM", "xterm", 1);
  ::unsetenv("NO_COLOR");
  EXPECT_TRUE(has_colors(terminal));
  EXPECT_FALSE(has_colors(-1));
  ::setenv("NO_COLOR", "", 1);
  EXPECT_TRUE(has_colors(terminal));
  ::setenv("NO_COLOR", "1", 1);
  EXPECT_FALSE(has_colors(terminal));
  ::unsetenv("NO_COLOR");
  ::setenv("TERM", "dumb", 1);
  EXPECT_FALSE(has_colors(terminal));
  ::unsetenv("TERM");
  EXPECT_FALSE(has_colors(terminal));
  ::close(terminal);
}

TEST(TerminalTest, WhatIsNoTerminal) {
  EXPECT_EQ(terminal_columns(-1), 80);
  EXPECT_EQ(line_columns(-1), std::numeric_limits<int64_t>::max());
}

}  // namespace
}  // namespace millrace
