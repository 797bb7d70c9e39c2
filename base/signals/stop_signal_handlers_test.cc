#include "base/signals/stop_signal_handlers.h"

#include <gtest/gtest.h>

#include "base/signals/stop_signals.h"
#include "base/status_matchers.h"

namespace millrace {
namespace {

void handle(int) {}

auto handler_of(int signal) {
  struct sigaction current = {};
  EXPECT_EQ(::sigaction(signal, nullptr, &current), 0);
  return current.sa_handler;
}

TEST(StopSignalHandlersTest, EachSignalIsHandledUntilRestored) {
  struct sigaction action = {};
  action.sa_handler = handle;
  {
    StopSignalHandlers handlers;
    EXPECT_FALSE(handlers.installed());
    ASSERT_OK(handlers.install(action));
    EXPECT_TRUE(handlers.installed());
    for (const StopSignal& stop : kStopSignals) EXPECT_EQ(handler_of(stop.number), handle);
    handlers.restore();
    EXPECT_FALSE(handlers.installed());
    for (const StopSignal& stop : kStopSignals) EXPECT_EQ(handler_of(stop.number), SIG_DFL);
    ASSERT_OK(handlers.install(action));
  }
  for (const StopSignal& stop : kStopSignals) EXPECT_EQ(handler_of(stop.number), SIG_DFL);
}

TEST(StopSignalHandlersTest, AHangupThatIsIgnoredStaysSo) {
  ::signal(SIGHUP, SIG_IGN);
  struct sigaction action = {};
  action.sa_handler = handle;
  StopSignalHandlers handlers;
  ASSERT_OK(handlers.install(action));
  EXPECT_EQ(handler_of(SIGHUP), SIG_IGN);
  EXPECT_EQ(handler_of(SIGTERM), handle);
  handlers.restore();
  EXPECT_EQ(handler_of(SIGHUP), SIG_IGN);
  ::signal(SIGHUP, SIG_DFL);
}

}  // namespace
}  // namespace millrace
