#include "tools/signal_exit.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include "tools/exit_code.h"

namespace millrace {
namespace {

TEST(SignalExitTest, EachSignalEndsTheProcessWithALine) {
  testing::GTEST_FLAG(death_test_style) = "threadsafe";
  const std::pair<int, const char*> signals[] = {{SIGTERM, "SIGTERM"}, {SIGINT, "SIGINT"},
                                                 {SIGHUP, "SIGHUP"},   {SIGUSR1, "SIGUSR1"},
                                                 {SIGUSR2, "SIGUSR2"}, {SIGXCPU, "SIGXCPU"}};
  for (const auto& [signal, name] : signals) {
    EXPECT_EXIT(
        {
          const SignalExit exit;
          ::raise(signal);
          ::_exit(0);
        },
        testing::ExitedWithCode(kExitRunAgain),
        std::string("^millrace: stopped by ") + name + " outside of training, .*run again");
  }
}

TEST(SignalExitTest, AfterwardsTheyDoWhatTheyDidBefore) {
  testing::GTEST_FLAG(death_test_style) = "threadsafe";
  EXPECT_EXIT(
      {
        { const SignalExit exit; }
        ::raise(SIGTERM);
        ::_exit(0);
      },
      testing::KilledBySignal(SIGTERM), "");
}

// nohup leaves the signal ignored.
TEST(SignalExitTest, AHangUpThatIsIgnoredStaysIgnored) {
  testing::GTEST_FLAG(death_test_style) = "threadsafe";
  EXPECT_EXIT(
      {
        ::signal(SIGHUP, SIG_IGN);
        const SignalExit exit;
        ::raise(SIGHUP);
        ::_exit(0);
      },
      testing::ExitedWithCode(0), "^$");
}

}  // namespace
}  // namespace millrace
