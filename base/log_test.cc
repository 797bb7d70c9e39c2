#include "base/log.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

namespace millrace {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::MatchesRegex;
using ::testing::Not;

// glog reads its environment before main, so tests of switches run in a process of their own:
// death tests of the "threadsafe" style start this program again.
class LogProcessTest : public testing::Test {
 protected:
  LogProcessTest() { testing::GTEST_FLAG(death_test_style) = "threadsafe"; }
  ~LogProcessTest() override {
    for (const char* name : {"GLOG_v", "GLOG_vmodule", "GLOG_minloglevel"}) ::unsetenv(name);
  }
};

void log_at_all_levels() {
  MILLRACE_VLOG(1) << "at one";
  MILLRACE_VLOG(2) << "at two";
  MILLRACE_LOG(INFO) << "at info";
  MILLRACE_LOG(ERROR) << "at error";
}

[[noreturn]] void log_and_exit(bool initialize) {
  if (initialize) initialize_logging("log_test");
  log_at_all_levels();
  ::_exit(0);
}

TEST_F(LogProcessTest, WithoutSwitchesVerboseLinesAreHidden) {
  for (const bool initialize : {false, true}) {
    EXPECT_EXIT(log_and_exit(initialize), testing::ExitedWithCode(0),
                AllOf(HasSubstr("at info"), HasSubstr("at error"), Not(HasSubstr("at one"))));
  }
}

TEST_F(LogProcessTest, VerbositySwitch) {
  ::setenv("GLOG_v", "1", 1);
  EXPECT_EXIT(log_and_exit(true), testing::ExitedWithCode(0),
              AllOf(HasSubstr("at one"), Not(HasSubstr("at two"))));
}

TEST_F(LogProcessTest, VerbosityByFile) {
  ::setenv("GLOG_vmodule", "log_test=2", 1);
  EXPECT_EXIT(log_and_exit(true), testing::ExitedWithCode(0),
              AllOf(HasSubstr("at one"), HasSubstr("at two")));
  ::setenv("GLOG_vmodule", "another_file=2", 1);
  EXPECT_EXIT(log_and_exit(true), testing::ExitedWithCode(0),
              AllOf(HasSubstr("at info"), Not(HasSubstr("at one"))));
}

TEST_F(LogProcessTest, MinimumLevelSwitch) {
  ::setenv("GLOG_minloglevel", "2", 1);
  EXPECT_EXIT(log_and_exit(true), testing::ExitedWithCode(0),
              AllOf(HasSubstr("at error"), Not(HasSubstr("at info"))));
}

TEST_F(LogProcessTest, EachLineIsPrintedOnce) {
  for (const bool initialize : {false, true}) {
    EXPECT_EXIT(log_and_exit(initialize), testing::ExitedWithCode(0),
                Not(MatchesRegex("(.|\n)*at error(.|\n)*at error(.|\n)*")));
  }
}

// Logs with a terminal as stderr, and writes what the terminal shows to the stderr of before.
[[noreturn]] void log_on_terminal_and_exit() {
  const int terminal = ::posix_openpt(O_RDWR | O_NOCTTY);
  if (terminal < 0 || ::grantpt(terminal) != 0 || ::unlockpt(terminal) != 0) ::_exit(2);
  const int original = ::dup(STDERR_FILENO);
  const int shown = ::open(::ptsname(terminal), O_RDWR | O_NOCTTY);
  ::dup2(shown, STDERR_FILENO);
  initialize_logging("log_test");
  log_at_all_levels();
  ::dup2(original, STDERR_FILENO);
  std::string text;
  char part[4096];
  while (text.find("at error\r\n") == std::string::npos) {  // a terminal may give it in pieces
    const ssize_t length = ::read(terminal, part, sizeof(part));
    if (length <= 0) ::_exit(3);
    text.append(part, length);
  }
  ::_exit(::write(original, text.data(), text.size()) < 0 ? 3 : 0);
}

TEST_F(LogProcessTest, TerminalShowsMessagesWithoutPrefix) {
  EXPECT_EXIT(log_on_terminal_and_exit(), testing::ExitedWithCode(0),
              HasSubstr("at info\r\nerror: at error"));
  EXPECT_EXIT(log_on_terminal_and_exit(), testing::ExitedWithCode(0),
              Not(HasSubstr("log_test.cc")));
}

TEST_F(LogProcessTest, FailedChecksSayWhatFailedAndAbort) {
  EXPECT_DEATH(MILLRACE_CHECK(1 + 1 == 3) << "n is " << 3, "Check failed: 1 \\+ 1 == 3 n is 3");
  EXPECT_DEATH(
      {
        initialize_logging("log_test");
        MILLRACE_CHECK(1 + 1 == 3) << "n is " << 3;
      },
      "Check failed: 1 \\+ 1 == 3 n is 3");
}

[[noreturn]] void log_before_there_is_a_file(const std::string& path, bool initialize) {
  if (initialize) initialize_logging("log_test");
  for (int i = 0; i < 1100; ++i) MILLRACE_LOG(INFO) << "early line " << i << ".";
  if (!log_to_file(path)) ::_exit(1);
  MILLRACE_LOG(INFO) << "line of the file";
  if (!log_to_file(path)) ::_exit(2);  // the same again: nothing twice
  ::_exit(0);
}

TEST_F(LogProcessTest, TheFileGetsWhatWasLoggedBeforeIt) {
  for (const bool initialize : {false, true}) {
    const std::string path =
        testing::TempDir() + (initialize ? "/early_initialized.log" : "/early.log");
    EXPECT_EXIT(log_before_there_is_a_file(path, initialize), testing::ExitedWithCode(0), "");
    std::stringstream stream;
    stream << std::ifstream(path).rdbuf();
    const std::string content = stream.str();
    const size_t first = content.find("early line 0.");
    ASSERT_NE(first, std::string::npos);
    EXPECT_EQ(content.find("early line 0.", first + 1), std::string::npos);
    EXPECT_THAT(content, HasSubstr("early line 999."));
    EXPECT_THAT(content, Not(HasSubstr("early line 1000."))) << "their number is bounded";
    EXPECT_GT(content.find("line of the file"), content.find("early line 999."));
  }
}

TEST(LogTest, PassedChecksEvaluateNothingElse) {
  int evaluated = 0;
  auto text = [&] { return ++evaluated; };
  MILLRACE_CHECK(true) << text();
  MILLRACE_VLOG(9) << text();
  EXPECT_EQ(evaluated, 0);
}

TEST(LogTest, MacrosAreSingleStatements) {
  std::vector<std::string> lines;
  set_log_sink([&](LogSeverity, absl::string_view line) { lines.emplace_back(line); });
  if (lines.size() > 100)
    MILLRACE_LOG(INFO) << "a";
  else
    MILLRACE_LOG(INFO) << "b";
  if (lines.size() > 100) MILLRACE_VLOG(1) << "c";
  set_log_sink(nullptr);
  ASSERT_EQ(lines.size(), 1u);
  EXPECT_THAT(lines[0], HasSubstr("b"));
}

TEST(LogTest, SinkReceivesSeverityPlaceAndText) {
  std::vector<std::pair<LogSeverity, std::string>> lines;
  set_log_sink([&](LogSeverity severity, absl::string_view line) {
    lines.emplace_back(severity, std::string(line));
  });
  MILLRACE_LOG(INFO) << "read " << 3 << " files";
  MILLRACE_LOG(WARNING) << "slow";
  set_log_sink(nullptr);
  ASSERT_EQ(lines.size(), 2u);
  EXPECT_EQ(lines[0].first, LogSeverity::INFO);
  EXPECT_THAT(lines[0].second, AllOf(HasSubstr("log_test.cc"), HasSubstr("] read 3 files")));
  EXPECT_THAT(lines[0].second, Not(HasSubstr("\n")));
  EXPECT_EQ(lines[1].first, LogSeverity::WARNING);
}

TEST(LogTest, FilesGetEveryLineAndThoseBeforeStay) {
  const std::string path = testing::TempDir() + "/log_test.log";
  std::ofstream(path) << "before\n";
  ASSERT_TRUE(log_to_file(path));
  set_log_sink([](LogSeverity, absl::string_view) {});
  MILLRACE_LOG(INFO) << "into the file";
  set_log_sink(nullptr);
  std::stringstream content;
  content << std::ifstream(path).rdbuf();
  EXPECT_THAT(content.str(), AllOf(HasSubstr("before\n"), HasSubstr("into the file\n")));
}

TEST(LogTest, AFileThatWasRemovedBeginsAnew) {
  const std::string path = testing::TempDir() + "/removed.log";
  set_log_sink([](LogSeverity, absl::string_view) {});
  for (const char* line : {"before", "after"}) {
    std::remove(path.c_str());
    ASSERT_TRUE(log_to_file(path));
    MILLRACE_LOG(INFO) << line;
  }
  set_log_sink(nullptr);
  std::stringstream content;
  content << std::ifstream(path).rdbuf();
  EXPECT_THAT(content.str(), AllOf(HasSubstr("after\n"), Not(HasSubstr("before"))));
}

TEST(LogTest, FileThatCannotBeOpened) { EXPECT_FALSE(log_to_file(testing::TempDir())); }

}  // namespace
}  // namespace millrace
