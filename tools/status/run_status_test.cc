#include "tools/status/run_status.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <nlohmann/json.hpp>
#include <string>

#include "absl/strings/str_cat.h"
#include "base/clock.h"
#include "base/status_matchers.h"
#include "checkpoint/folder/directory_lock.h"

namespace millrace {
namespace {

using ::testing::HasSubstr;
using Json = nlohmann::json;

// An output directory as runs leave it. Its status was written 1 s ago.
class RunStatusTest : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_OK_AND_ASSIGN(lock_,
                         DirectoryLock::acquire(FileSystem::local(), directory_, Clock::real()));
    char host[256] = {};
    ASSERT_EQ(::gethostname(host, sizeof(host) - 1), 0);
    written_["host"] = host;
    written_["started"] = utc(now_ - absl::Seconds(60));
    written_["written"] = utc(now_ - absl::Seconds(1));
    written_["process"] = ::getpid();
    write_status();
  }

  static std::string utc(absl::Time time) {
    return absl::FormatTime(absl::RFC3339_full, time, absl::UTCTimeZone());
  }
  void write(const std::string& name, const std::string& text) const {
    ASSERT_OK(write_file_atomically(FileSystem::local(), join_path(directory_, name), text));
  }
  void write_status() const { write("status.json", written_.dump()); }
  RunStatus read() const {
    const auto status = read_run_status(FileSystem::local(), directory_, now_);
    EXPECT_OK(status.status());
    return status.value_or(RunStatus());
  }

  const std::string directory_ = join_path(
      testing::TempDir(),
      absl::StrCat("run_status/", testing::UnitTest::GetInstance()->current_test_info()->name()));
  const absl::Time now_ = absl::Now();
  std::unique_ptr<DirectoryLock> lock_;
  Json written_ = Json::parse(R"({
      "interval_seconds": 2, "world_size": 2, "step": 12, "epoch": 1, "window": 3,
      "phase": "commit", "loading": false, "seconds": 5, "exchanges": true,
      "waits_for": [{"rank": 1, "phase": "data", "step": 11}], "healthy": true, "health": "ok"})");
};

TEST_F(RunStatusTest, ARunningRunSaysWhatItWaitsFor) {
  const RunStatus status = read();
  EXPECT_THAT(run_status_text(status),
              HasSubstr("running: step 12, 1 epoch and 3 windows finished\n"
                        "commit of step 12, waits for rank 1 (data of step 11) for 6.0 s\n"
                        "checkpoint: none\n"));
  const Json json = Json::parse(run_status_json(status));
  EXPECT_EQ(json["state"], "running");
  EXPECT_EQ(json["waits_for"], written_["waits_for"]);
  EXPECT_NEAR(json["seconds"], 6, 0.1);
  EXPECT_NEAR(json["age_seconds"], 1, 0.1);
  EXPECT_EQ(json["world_size"], 2);
}

TEST_F(RunStatusTest, AShortExchangeHasEnded) {
  written_["seconds"] = 0.002;
  write_status();
  EXPECT_THAT(run_status_text(read()), HasSubstr("\ncommit of step 12 for 0.0 s\n"));
  EXPECT_TRUE(read().waits_for.empty());
}

TEST_F(RunStatusTest, AHolderThatWritesNoStatusIsUnhealthy) {
  written_["written"] = utc(now_ - absl::Seconds(11));
  write_status();
  EXPECT_EQ(read().state, "running");
  EXPECT_FALSE(read().healthy);
  EXPECT_THAT(run_status_text(read()), HasSubstr("unhealthy: status.json is 11 s old; "));
  written_["written"] = utc(now_ - absl::Seconds(9));
  write_status();
  EXPECT_TRUE(read().healthy);
}

TEST_F(RunStatusTest, AStatusOfAnEarlierProcessIsNotThatOfTheHolder) {
  written_["process"] = 1 << 30;
  write_status();
  EXPECT_EQ(read().state, "running");
  EXPECT_EQ(read().phase, "");
  EXPECT_THAT(run_status_text(read()), HasSubstr("has written no status yet"));
}

TEST_F(RunStatusTest, ARunWithoutALockHasEnded) {
  lock_.reset();
  EXPECT_EQ(read().state, "killed");
  EXPECT_EQ(Json::parse(run_status_json(read()))["seconds"], nullptr);
  write("events.jsonl",
        R"({"time":"t","kind":"failed","what":"a hook","step":1,"detail":"of an earlier run"})"
        "\n"
        R"({"time":"t","kind":"started","what":"train","step":1})"
        "\n");
  EXPECT_EQ(read().error, "");
  write("events.jsonl", R"({"time":"t","kind":"failed","what":"a hook","step":1,"detail":"why"})"
                        "\n");
  EXPECT_EQ(read().error, "why");
  write("summary.json", R"({"outcome": "stopped", "stop_reason": "signal", "steps": 20})");
  EXPECT_THAT(run_status_text(read()), HasSubstr("stopped (signal): step 20"));
  write("summary.json", R"({"outcome": "failed", "error": "disk full", "steps": 20})");
  EXPECT_EQ(read().state, "failed");
  EXPECT_EQ(read().error, "disk full");
  // A summary from before the process started is of an earlier one.
  written_["started"] = utc(now_ + absl::Hours(1));
  write_status();
  EXPECT_EQ(read().state, "killed");
}

TEST_F(RunStatusTest, AnotherHostIsRunningWhileItsStatusIsYoung) {
  lock_.reset();
  written_["host"] = "another-host";
  write_status();
  EXPECT_EQ(read().state, "running");
  EXPECT_EQ(read().phase, "commit");
  written_["written"] = utc(now_ - absl::Seconds(11));
  write_status();
  EXPECT_EQ(read().state, "killed");
  EXPECT_THAT(run_status_text(read()), HasSubstr("its status is 11 s old"));
  // A summary ends the run at once.
  written_["written"] = utc(now_ - absl::Seconds(1));
  write_status();
  write("summary.json", R"({"outcome": "completed", "steps": 20})");
  EXPECT_EQ(read().state, "completed");
  written_["started"] = utc(now_ + absl::Hours(1));
  write_status();
  EXPECT_EQ(read().state, "running") << "the summary is of an earlier process";
}

TEST_F(RunStatusTest, ADirectoryWithoutARunAndDamageAreErrors) {
  EXPECT_THAT(read_run_status(FileSystem::local(), directory_ + "/none", now_).status(),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("has no run")));
  write("status.json", "[");
  EXPECT_THAT(read_run_status(FileSystem::local(), directory_, now_).status(),
              StatusIs(absl::StatusCode::kDataLoss, HasSubstr("status.json")));
}

}  // namespace
}  // namespace millrace
