#include "tests/campaigns/traced_child.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>

#include "base/file_system.h"
#include "base/status_matchers.h"
#include "tests/campaigns/trace_probe.h"

namespace millrace {
namespace {

using Kind = Disturbance::Kind;

// Writes "abcd" into a file in three calls: openat, pwrite64, close.
class TracedChildTest : public testing::Test {
 protected:
  TracedChildTest() : path_(join_path(testing::TempDir(), "traced_child")) {}

  void SetUp() override {
    const auto life = run({});
    if (absl::IsUnimplemented(life.status())) {
      GTEST_SKIP() << skip_traced("one test", life.status().message());
    }
    ASSERT_OK(life.status());
    calls_ = life->calls;
    ASSERT_EQ(calls_.size(), 3u);
    ASSERT_TRUE(life->finished);
  }
  absl::StatusOr<TracedLife> run(const Disturbance& disturbance) {
    ::unlink(path_.c_str());
    return run_traced(
        [this] {
          const int fd = ::open(path_.c_str(), O_WRONLY | O_CREAT, 0644);
          const ssize_t n = ::pwrite(fd, "abcd", 4, 0);
          const bool again = n < 0 && errno == EIO && ::pwrite(fd, "f", 1, 0) < 0;
          if (!again) ::close(fd);
        },
        disturbance);
  }
  int64_t size() const {
    struct stat stat;
    return ::stat(path_.c_str(), &stat) == 0 ? stat.st_size : -1;
  }

  const std::string path_;
  std::vector<TracedCall> calls_;
};

TEST_F(TracedChildTest, CallsHaveNamesAndPaths) {
  EXPECT_EQ(call_name(calls_[0].number), "openat");
  EXPECT_EQ(call_name(calls_[1].number), "pwrite64");
  EXPECT_EQ(call_name(calls_[2].number), "close");
  for (const TracedCall& call : calls_) EXPECT_EQ(call.path, path_);
  EXPECT_TRUE(may_be_short(calls_[1].number));
  EXPECT_FALSE(may_be_short(calls_[2].number));
  EXPECT_EQ(call_name(100000), "call 100000");
}

TEST_F(TracedChildTest, KillsBeforeAndAfter) {
  for (const auto& [kind, expected] : {std::pair(Kind::kKillAtEntry, 0), {Kind::kKillAtExit, 4}}) {
    ASSERT_OK_AND_ASSIGN(const TracedLife life, run({kind, 1}));
    EXPECT_FALSE(life.finished);
    EXPECT_TRUE(WIFSIGNALED(life.status) && WTERMSIG(life.status) == SIGKILL);
    EXPECT_EQ(size(), expected);
  }
}

TEST_F(TracedChildTest, OneCallFails) {
  ASSERT_OK_AND_ASSIGN(const TracedLife life, run({Kind::kError, 1, EIO}));
  EXPECT_TRUE(life.finished);
  EXPECT_EQ(life.calls.size(), 4u) << "it saw the error";
  EXPECT_EQ(size(), 1);
}

TEST_F(TracedChildTest, AllFailFromHere) {
  ASSERT_OK_AND_ASSIGN(const TracedLife life, run({Kind::kErrorsFromHere, 1, EIO}));
  EXPECT_TRUE(life.finished);
  EXPECT_EQ(life.calls.size(), 3u);
  EXPECT_EQ(size(), 0);
}

TEST_F(TracedChildTest, Short) {
  ASSERT_OK_AND_ASSIGN(const TracedLife life, run({Kind::kShort, 1}));
  EXPECT_TRUE(life.finished);
  EXPECT_EQ(size(), 2);
}

}  // namespace
}  // namespace millrace
