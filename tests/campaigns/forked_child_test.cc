#include "tests/campaigns/forked_child.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

namespace millrace {
namespace {

TEST(ForkedChildTest, LinesAndEnd) {
  ForkedChild child([](const ForkedChild::Say& say) {
    say("one");
    say("two words");
  });
  EXPECT_EQ(child.next_line(), "one");
  EXPECT_EQ(child.next_line(), "two words");
  EXPECT_EQ(child.next_line(), std::nullopt);
  const int status = child.wait();
  EXPECT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

TEST(ForkedChildTest, WhatWasSaidOutlivesAKill) {
  ForkedChild child([](const ForkedChild::Say& say) {
    say("before");
    while (true) ::pause();
  });
  EXPECT_EQ(child.next_line(), "before");
  EXPECT_TRUE(child.stop());
  child.send(SIGKILL);
  EXPECT_EQ(child.next_line(), std::nullopt);
  const int status = child.wait();
  EXPECT_TRUE(WIFSIGNALED(status));
  EXPECT_EQ(WTERMSIG(status), SIGKILL);
}

TEST(ForkedChildTest, OneThatHasEndedCannotBeStopped) {
  ForkedChild child([](const ForkedChild::Say&) {});
  EXPECT_EQ(child.next_line(), std::nullopt);
  EXPECT_FALSE(child.stop());
}

}  // namespace
}  // namespace millrace
