#include "distributed/wait_notice.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "base/log.h"

namespace millrace {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(WaitNoticeTest, SaysWhatForAndHowLong) {
  std::vector<std::string> lines;
  set_log_sink([&](LogSeverity, absl::string_view line) { lines.emplace_back(line); });
  FakeClock clock;
  clock.advance(absl::Seconds(100));
  WaitNotice notice(clock, absl::Seconds(160));
  for (int second = 0; second <= 66; ++second) {
    notice.log_if_due("for rank 1");
    clock.advance(absl::Seconds(1));
  }
  set_log_sink(nullptr);
  EXPECT_THAT(lines, ElementsAre(HasSubstr("waiting for rank 1, at most 55s longer"),
                                 HasSubstr("waiting for rank 1, at most 25s longer")));
}

TEST(WaitNoticeTest, AWaitWithoutAKnownEndSaysHowLongItTook) {
  FakeClock clock;
  WaitNotice notice(clock, absl::InfiniteDuration(), {absl::Minutes(1), absl::Minutes(2)});
  clock.advance(absl::Seconds(59));
  EXPECT_EQ(notice.line_if_due("for rank 1"), std::nullopt);
  clock.advance(absl::Seconds(1));
  EXPECT_EQ(notice.line_if_due("for rank 1"), "waiting for rank 1, for 1m so far");
  clock.advance(absl::Seconds(119));
  EXPECT_EQ(notice.line_if_due("for rank 1"), std::nullopt);
  clock.advance(absl::Seconds(1));
  EXPECT_EQ(notice.line_if_due("for rank 1"), "waiting for rank 1, for 3m so far");
}

}  // namespace
}  // namespace millrace
