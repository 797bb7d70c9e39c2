#include "tools/output_hook.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <string>

#include "base/log.h"
#include "base/status_matchers.h"
#include "proto/config_reader.h"
#include "tests/conformance/hook_conformance.h"
#include "tests/fakes/fake_hook_context.h"
#include "tests/fakes/tiny_trainer.h"

namespace millrace {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

class OutputHookTest : public testing::Test {
 protected:
  OutputHookTest()
      : base_(testing::TempDir() + "/" +
              testing::UnitTest::GetInstance()->current_test_info()->name()) {
    std::filesystem::remove_all(base_);
    std::filesystem::create_directories(base_);
    config_.mutable_train()->set_seed(17);
    config_.mutable_run()->set_output_dir(base_ + "/a/b");
  }

  std::unique_ptr<Trainer> trainer(FakeDatasetOptions data = {}) {
    TinyTrainerOptions options;
    options.train = data;
    std::unique_ptr<Trainer> trainer = tiny_trainer(options);
    EXPECT_OK(trainer->add_hook(std::make_unique<OutputHook>(FileSystem::local(), config_)));
    return trainer;
  }
  std::string read(const std::string& name) {
    const auto content = read_file(FileSystem::local(), base_ + "/a/b/" + name);
    EXPECT_OK(content.status());
    return content.value_or("");
  }

  const std::string base_;
  JobConfig config_;
};

TEST_F(OutputHookTest, Conformance) {
  check_hook(
      {.make = [this] { return std::make_unique<OutputHook>(FileSystem::local(), config_); }});
}

TEST_F(OutputHookTest, MakesTheDirectoryWithConfigurationAndLog) {
  ASSERT_OK(trainer()->train());
  MILLRACE_LOG(INFO) << "a line for the log";
  JobConfig written;
  ASSERT_OK(parse_text(read("config.textproto"), "config.textproto", &written));
  EXPECT_EQ(to_text(written), to_text(config_));
  EXPECT_THAT(read("logs/rank-0.log"), HasSubstr("a line for the log"));
}

TEST_F(OutputHookTest, OtherRanksWriteTheirLogAlone) {
  OutputHook hook(FileSystem::local(), config_);
  FakeHookContext context;
  context.rank_is = 2;
  ASSERT_OK(hook.start(context));
  ASSERT_OK(hook.before_step(context));
  MILLRACE_LOG(INFO) << "a line of rank 2";
  EXPECT_THAT(read("logs/rank-2.log"), HasSubstr("a line of rank 2"));
  EXPECT_FALSE(std::filesystem::exists(base_ + "/a/b/config.textproto"));
  EXPECT_FALSE(std::filesystem::exists(base_ + "/a/b/logs/rank-0.log"));
}

TEST_F(OutputHookTest, OpensTheEventLogWithTheDirectory) {
  JsonlEventLog events(FileSystem::local(), Clock::real(), base_ + "/a/b/events.jsonl", 0);
  OutputHook hook(FileSystem::local(), config_, &events);
  FakeHookContext context;
  ASSERT_OK(hook.start(context));
  LoopEvent started;
  started.what = "train";
  events.record(started);
  EXPECT_TRUE(std::filesystem::is_empty(base_));
  ASSERT_OK(hook.before_step(context));
  EXPECT_THAT(read("events.jsonl"), HasSubstr("\"train\""));
}

TEST_F(OutputHookTest, ADirectoryThatExistsIsUsed) {
  std::filesystem::create_directories(base_ + "/a/b/logs");
  ASSERT_OK(trainer()->train());
  EXPECT_NE(read("config.textproto"), "");
}

TEST_F(OutputHookTest, WithoutAFirstStepThereIsNothing) {
  EXPECT_FALSE(trainer({.batches = 0})->train().ok());
  EXPECT_TRUE(std::filesystem::is_empty(base_));
}

TEST_F(OutputHookTest, DataThatFailsAtOnceLeavesNothing) {
  EXPECT_FALSE(trainer({.fail_at = 0})->train().ok());
  EXPECT_TRUE(std::filesystem::is_empty(base_));
}

TEST_F(OutputHookTest, AFileInTheWayIsFoundBeforeTheFirstStep) {
  for (const std::string name : {"/a", "/a/b"}) {
    std::filesystem::remove_all(base_ + "/a");
    std::filesystem::create_directories(base_ + "/a");
    std::filesystem::remove(base_ + name);
    ASSERT_OK(write_file_atomically(FileSystem::local(), base_ + name, "mine"));
    std::unique_ptr<Trainer> failing = trainer();
    EXPECT_THAT(failing->train(),
                StatusIs(absl::StatusCode::kPermissionDenied,
                         AllOf(HasSubstr("output"), HasSubstr(base_ + name + " is no directory"),
                               HasSubstr("--output_dir"))));
    EXPECT_EQ(failing->progress().step, 0);
    EXPECT_THAT(read_file(FileSystem::local(), base_ + name), IsOkAndHolds("mine"));
  }
}

TEST_F(OutputHookTest, AFileInTheWayOfLogs) {
  std::filesystem::create_directories(base_ + "/a/b");
  ASSERT_OK(write_file_atomically(FileSystem::local(), base_ + "/a/b/logs", "mine"));
  std::unique_ptr<Trainer> failing = trainer();
  const absl::Status status = failing->train().status();
  EXPECT_THAT(status.message(), AllOf(HasSubstr("output"), HasSubstr("/a/b/logs")));
  EXPECT_EQ(failing->progress().step, 0);
}

}  // namespace
}  // namespace millrace
