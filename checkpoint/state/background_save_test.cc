#include "checkpoint/state/background_save.h"

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <future>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "base/status_matchers.h"

namespace millrace {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

class BackgroundSaveTest : public testing::Test {
 protected:
  SaveWork work() {
    SaveWork work;
    work.copy = [this](ThreadPool& pool) {
      threads_ = pool.threads();
      priority_ = getpriority(PRIO_PROCESS, static_cast<id_t>(gettid()));
      copy_.get_future().wait();
      return absl::OkStatus();
    };
    work.sync = [this](ThreadPool&) -> absl::StatusOr<std::string> {
      sync_.get_future().wait();
      return "part";
    };
    work.commit = [this](const std::vector<std::string>& parts, ThreadPool&) {
      commit_.get_future().wait();
      parts_ = parts;
      return absl::OkStatus();
    };
    return work;
  }

  std::promise<void> copy_, sync_, commit_;  // set: the function continues
  std::vector<std::string> parts_;
  std::atomic<int> threads_{0}, priority_{0};
};

TEST_F(BackgroundSaveTest, GoesStepByStep) {
  BackgroundSave save(work(), 3);
  EXPECT_FALSE(save.ready());
  copy_.set_value();
  save.await_copied();
  EXPECT_FALSE(save.ready());
  sync_.set_value();
  save.await_ready();
  EXPECT_FALSE(save.committing());
  ASSERT_OK_AND_ASSIGN(const std::string part, save.part());
  EXPECT_EQ(part, "part");
  save.commit({"a", "b"});
  EXPECT_TRUE(save.committing());
  EXPECT_FALSE(save.ready());
  commit_.set_value();
  save.await_ready();
  EXPECT_TRUE(save.ready());
  EXPECT_OK(save.outcome());
  EXPECT_THAT(parts_, ElementsAre("a", "b"));
  EXPECT_EQ(threads_, 3);
  EXPECT_EQ(priority_, std::max(10, getpriority(PRIO_PROCESS, static_cast<id_t>(gettid()))));
}

// State that `copy` owns, such as frozen tables, is released before any other long work.
TEST_F(BackgroundSaveTest, WhatCopyOwnsIsReleasedOnceItHasReturned) {
  for (const int outcome : {0, 1, 2}) {
    const auto state = std::make_shared<int>(1);
    SaveWork owns = work();
    owns.copy = [outcome, state](ThreadPool&) {
      if (outcome == 1) throw std::runtime_error("no copy");
      return outcome == 2 ? absl::DataLossError("no copy") : absl::OkStatus();
    };
    owns.sync = [](ThreadPool&) { return std::string("part"); };
    BackgroundSave save(std::exchange(owns, {}), 1);
    save.await_copied();
    EXPECT_EQ(state.use_count(), 1) << outcome;
    save.await_ready();
  }
}

TEST_F(BackgroundSaveTest, ErrorsAndExceptionsOfTheFirstPart) {
  SaveWork fails = work();
  fails.copy = [](ThreadPool&) { return absl::DataLossError("no copy"); };
  BackgroundSave first(fails, 1);
  first.await_copied();
  first.await_ready();
  EXPECT_THAT(first.part().status(), StatusIs(absl::StatusCode::kDataLoss, HasSubstr("no copy")));
  fails.copy = [](ThreadPool&) -> absl::Status { throw std::runtime_error("thrown"); };
  BackgroundSave second(fails, 1);
  second.await_ready();
  EXPECT_THAT(second.part().status().message(), HasSubstr("thrown"));
  SaveWork unsynced = work();
  unsynced.sync = [](ThreadPool&) { return absl::UnavailableError("no sync"); };
  copy_.set_value();
  BackgroundSave third(unsynced, 1);
  third.await_ready();
  EXPECT_THAT(third.part().status(), StatusIs(absl::StatusCode::kUnavailable));
}

TEST_F(BackgroundSaveTest, AnErrorOfTheCommitIsTheOutcome) {
  SaveWork fails = work();
  fails.commit = [](const std::vector<std::string>&, ThreadPool&) {
    return absl::UnavailableError("no commit");
  };
  copy_.set_value();
  sync_.set_value();
  BackgroundSave save(fails, 1);
  save.await_ready();
  save.commit({});
  save.await_ready();
  EXPECT_THAT(save.outcome(), StatusIs(absl::StatusCode::kUnavailable, HasSubstr("no commit")));
}

TEST_F(BackgroundSaveTest, EndsWithoutACommit) {
  copy_.set_value();
  sync_.set_value();
  { const BackgroundSave save(work(), 2); }
  EXPECT_THAT(parts_, ElementsAre());
}

}  // namespace
}  // namespace millrace
