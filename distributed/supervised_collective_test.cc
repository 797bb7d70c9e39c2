#include "distributed/supervised_collective.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>

#include "base/status_matchers.h"
#include "distributed/mesh/memory_job_store_testing.h"

namespace millrace {
namespace {

using ::testing::HasSubstr;

// Rank 0 of 1, so that no other rank is checked.
class SupervisedCollectiveTest : public testing::Test {
 protected:
  void SetUp() override {
    SupervisorOptions options;
    options.timeout = absl::Seconds(1);
    options.connection_lost = [](int) { return false; };
    options.failed = [under_way = under_way_] { under_way->fail(); };
    supervisor_ = std::make_unique<Supervisor>(store_, options);
  }

  SupervisedCollective start() {
    entry_ = under_way_->add();
    SupervisedWait wait;
    wait.what = "a sum";
    wait.ordinal = supervisor_->count_started(wait.channel);
    return SupervisedCollective(*supervisor_, under_way_, entry_, wait);
  }

  MemoryJobStore store_;
  const std::shared_ptr<CollectivesUnderWay> under_way_ = std::make_shared<CollectivesUnderWay>();
  std::shared_ptr<CollectivesUnderWay::Entry> entry_;
  std::unique_ptr<Supervisor> supervisor_;
};

TEST_F(SupervisedCollectiveTest, EndsOnAnotherThread) {
  SupervisedCollective collective = start();
  std::thread library([&] { under_way_->end(*entry_, ""); });
  EXPECT_OK(collective.wait());
  EXPECT_OK(collective.wait());
  library.join();
}

TEST_F(SupervisedCollectiveTest, ErrorOfTheLibraryIsExplained) {
  SupervisedCollective collective = start();
  under_way_->end(*entry_, "connection reset");
  const absl::Status error = collective.wait();
  EXPECT_THAT(error, StatusIs(absl::StatusCode::kAborted, HasSubstr("connection reset")));
  EXPECT_EQ(collective.wait(), error);
}

TEST_F(SupervisedCollectiveTest, FailureOfTheJobWakesTheWaiter) {
  SupervisedCollective collective = start();
  std::thread other([&] { supervisor_->fail("told by a thread").IgnoreError(); });
  EXPECT_THAT(collective.wait(),
              StatusIs(absl::StatusCode::kAborted, HasSubstr("told by a thread")));
  other.join();
}

TEST_F(SupervisedCollectiveTest, ThatNeverEndsTimesOut) {
  EXPECT_THAT(start().wait(),
              StatusIs(absl::StatusCode::kAborted, HasSubstr("a sum did not end within 1s")));
}

TEST_F(SupervisedCollectiveTest, WaitingForAll) {
  EXPECT_TRUE(under_way_->await_all(absl::ZeroDuration()));
  auto first = under_way_->add();
  auto second = under_way_->add();
  under_way_->end(*first, "");
  EXPECT_FALSE(under_way_->await_all(absl::Milliseconds(1)));
  under_way_->end(*second, "an error");
  EXPECT_TRUE(under_way_->await_all(absl::ZeroDuration()));
}

}  // namespace
}  // namespace millrace
