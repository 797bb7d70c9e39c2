#include "sinks/mlflow/mlflow_sender.h"

#include <memory>
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/memory_file_system_testing.h"
#include "base/mutex.h"
#include "base/status_matchers.h"
#include "sinks/mlflow/fake_mlflow_testing.h"
#include "sinks/mlflow/run_state.h"

namespace millrace {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr absl::Duration kLong = absl::Seconds(30);
constexpr absl::Duration kShort = absl::Milliseconds(100);

// Captures the lines logged during its lifetime.
class LoggedLines {
 public:
  LoggedLines() {
    set_log_sink([this](LogSeverity, absl::string_view line) {
      MutexLock lock(mutex_);
      absl::StrAppend(&lines_, line, "\n");
    });
  }
  ~LoggedLines() { set_log_sink(nullptr); }
  std::string get() const {
    MutexLock lock(mutex_);
    return lines_;
  }

 private:
  mutable Mutex mutex_;
  std::string lines_;
};

class MlflowSenderTest : public testing::Test {
 protected:
  void start(absl::Duration timeout = kLong, absl::Duration backoff = absl::Milliseconds(1),
             absl::Duration most_wait = absl::InfiniteDuration()) {
    auto state = load_run_state(files_, "out/run.json", server_.uri(), "e", 0);
    ASSERT_OK(state.status());
    sender_ = std::make_unique<MlflowSender>(
        files_, Clock::real(),
        MlflowSenderOptions{.server = server_.url(),
                            .timeout = timeout,
                            .most_wait = most_wait,
                            .first_backoff = backoff,
                            .most_backoff = backoff,
                            .uploader = {.run_name = "name",
                                         .directory = "out",
                                         .rows_directory = "rows",
                                         .params = {},
                                         .state = *std::move(state)}});
  }
  void append(int64_t step) {
    absl::StrAppend(&rows_, "{\"step\":", step,
                    ",\"time\":\"1970-01-01T00:00:00.001Z\",\"metrics\":{\"loss\":0.5}}\n");
    files_.put("rows/train.jsonl", rows_);
    if (sender_ != nullptr) sender_->notify();
  }
  bool wait_for_metrics(size_t number) {
    return server_.wait_for([=](const auto& runs) {
      return runs.size() == 1 && runs.begin()->second.metrics.size() == number;
    });
  }
  // Answers each later request with this response.
  void answer(const TestResponse& response) {
    server_.intercept([=](const TestRequest&) { return std::optional(response); });
  }

  LoggedLines log_;
  FakeMlflow server_;
  MemoryFileSystem files_;
  std::string rows_;
  std::unique_ptr<MlflowSender> sender_;
};

TEST_F(MlflowSenderTest, RowsAreSentAsTheyCome) {
  append(1);
  start();
  EXPECT_TRUE(wait_for_metrics(1));
  append(2);
  EXPECT_TRUE(wait_for_metrics(2));
  append(3);
  EXPECT_TRUE(sender_->wait_until_sent());
  EXPECT_EQ(server_.run().status, "RUNNING");
  sender_.reset();
  EXPECT_EQ(server_.run().status, "FINISHED");
  EXPECT_THAT(log_.get(), AllOf(HasSubstr(absl::StrCat("MLflow shows this run at ", server_.uri(),
                                                       "/#/experiments/e/runs/run1")),
                                Not(HasSubstr("not all reports were sent"))));
}

TEST_F(MlflowSenderTest, TheDestructorSendsTheRest) {
  start();
  for (int i = 0; i < 100; ++i) append(i);
  sender_.reset();
  EXPECT_EQ(server_.run().metrics.size(), 100);
  EXPECT_EQ(server_.run().status, "FINISHED");
}

TEST_F(MlflowSenderTest, AnOutageIsReportedOnce) {
  answer(http_response(503, "busy"));
  append(1);
  start();
  EXPECT_FALSE(sender_->wait_until_sent());
  EXPECT_FALSE(sender_->wait_until_sent());
  server_.intercept(nullptr);
  EXPECT_TRUE(wait_for_metrics(1));
  sender_.reset();
  const std::string log = log_.get();
  const size_t first = log.find("busy; reports wait in rows and are sent later");
  EXPECT_NE(first, log.npos) << log;
  EXPECT_EQ(log.find("reports wait in", first + 20), log.npos) << log;
  EXPECT_THAT(log, HasSubstr("accepts reports again"));
}

TEST_F(MlflowSenderTest, AnotherCauseIsReported) {
  answer(http_response(503, "busy"));
  append(1);
  start();
  EXPECT_FALSE(sender_->wait_until_sent());
  answer(http_response(401, "who are you"));
  append(2);
  for (int i = 0; i < 2000 && !absl::StrContains(log_.get(), "who are you"); ++i) {
    absl::SleepFor(absl::Milliseconds(5));
  }
  EXPECT_THAT(log_.get(), HasSubstr("who are you; reports wait in rows"));
}

TEST_F(MlflowSenderTest, AnAbandonedSenderLeavesTheRunOpen) {
  append(1);
  start();
  EXPECT_TRUE(sender_->wait_until_sent());
  sender_->abandon();
  sender_.reset();
  EXPECT_EQ(server_.run().status, "RUNNING");
}

TEST_F(MlflowSenderTest, WithoutAServerTheRestStays) {
  answer(http_response(503, "busy"));
  start(kLong, /*backoff=*/absl::Hours(1));
  append(1);
  sender_->wait_until_sent();
  const absl::Duration begin = Clock::real().elapsed();
  sender_.reset();
  EXPECT_LT(Clock::real().elapsed() - begin, kLong);
  EXPECT_THAT(log_.get(), HasSubstr("not all reports were sent; they stay in rows"));
  server_.intercept(nullptr);
  start();
  EXPECT_TRUE(wait_for_metrics(1)) << "sent by the next run";
}

TEST_F(MlflowSenderTest, AServerThatComesBackGetsTheRestAtTheEnd) {
  answer(http_response(503, "busy"));
  start(kLong, /*backoff=*/absl::Hours(1));
  append(1);
  EXPECT_FALSE(sender_->wait_until_sent());
  server_.intercept(nullptr);
  sender_.reset();
  EXPECT_EQ(server_.run().status, "FINISHED");
  EXPECT_EQ(server_.run().metrics.size(), 1);
}

TEST_F(MlflowSenderTest, AServerThatHangsDelaysOneWaitAndTheEnd) {
  Mutex mutex;
  bool answers = false;
  server_.intercept([&](const TestRequest&) {
    MutexLock lock(mutex);
    mutex.await([&] { return answers; });
    return std::optional<TestResponse>();
  });
  append(1);
  start(kShort, /*backoff=*/absl::Hours(1));
  EXPECT_FALSE(sender_->wait_until_sent());
  const absl::Duration begin = Clock::real().elapsed();
  for (int i = 0; i < 1000; ++i) EXPECT_FALSE(sender_->wait_until_sent());
  sender_.reset();
  EXPECT_LT(Clock::real().elapsed() - begin, 1000 * kShort);
  EXPECT_THAT(log_.get(), HasSubstr("no time is left"));
  {
    MutexLock lock(mutex);
    answers = true;
  }
  server_.intercept(nullptr);  // waits for the request
}

TEST_F(MlflowSenderTest, AWaitMayBeShorterThanARequest) {
  Mutex mutex;
  bool answers = false;
  server_.intercept([&](const TestRequest&) {
    MutexLock lock(mutex);
    mutex.await([&] { return answers; });
    return std::optional<TestResponse>();
  });
  append(1);
  start(kLong, /*backoff=*/absl::Hours(1), /*most_wait=*/kShort);
  const absl::Duration begin = Clock::real().elapsed();
  EXPECT_FALSE(sender_->wait_until_sent());
  EXPECT_LT(Clock::real().elapsed() - begin, kLong);
  EXPECT_THAT(log_.get(), HasSubstr("did not take all reports within 0.1 s"));
  {
    MutexLock lock(mutex);
    answers = true;
  }
  EXPECT_TRUE(wait_for_metrics(1)) << "the request did not end with the wait";
  sender_.reset();
}

}  // namespace
}  // namespace millrace
