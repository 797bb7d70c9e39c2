#include "job/output_hook.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <string>

#include "base/log.h"
#include "base/status_matchers.h"
#include "proto/config_reader.h"
#include "tests/conformance/hook_conformance.h"
#include "tests/environment/obey_permissions.h"
#include "tests/fakes/fake_hook_context.h"
#include "tests/fakes/tiny_trainer.h"

namespace millrace {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

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

  // Returns a hook that was started, with an event of this kind in events_.
  std::unique_ptr<OutputHook> hook_with_event(const std::string& what) {
    auto hook = std::make_unique<OutputHook>(FileSystem::local(), config_, &events_);
    EXPECT_OK(hook->start(context_));
    LoopEvent event;
    event.what = what;
    events_.record(event);
    return hook;
  }

  const std::string base_;
  JobConfig config_;
  JsonlEventLog events_{FileSystem::local(), Clock::real(), base_ + "/a/b/events.jsonl", 0};
  FakeHookContext context_;
};

// Returns a hook that writes to a directory of the suite.
std::unique_ptr<Hook> output_hook() {
  static const JobConfig config = [] {
    const std::string directory = testing::TempDir() + "/Conformance";
    std::filesystem::remove_all(directory);
    std::filesystem::create_directories(directory);
    JobConfig config;
    config.mutable_train()->set_seed(17);
    config.mutable_run()->set_output_dir(directory + "/a/b");
    return config;
  }();
  return std::make_unique<OutputHook>(FileSystem::local(), config);
}

[[maybe_unused]] const bool kOutputHook =
    register_hook_conformance("OutputHook", {.make = output_hook});

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
  const std::unique_ptr<OutputHook> hook = hook_with_event("train");
  EXPECT_TRUE(std::filesystem::is_empty(base_));
  ASSERT_OK(hook->before_step(context_));
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

TEST_F(OutputHookTest, ARunWithoutAStepThatSavesHasOutput) {
  const std::unique_ptr<OutputHook> hook = hook_with_event("change");
  ASSERT_OK(hook->after_checkpoint(context_, {base_ + "/a/b/checkpoints/step-00000007", {}}));
  EXPECT_THAT(read("events.jsonl"), HasSubstr("\"change\""));
  EXPECT_NE(read("config.textproto"), "");
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

TEST_F(OutputHookTest, EveryCheckpointIsLoggedOnceByTheFirstRank) {
  OutputHook hook(FileSystem::local(), config_);
  FakeHookContext context;
  for (const int rank : {0, 1}) {
    context.rank_is = rank;
    testing::internal::CaptureStderr();
    for (int save = 0; save < 2; ++save) {
      ASSERT_OK(hook.after_checkpoint(context, {"out/checkpoints/step-00000007", {}}));
    }
    const std::string logged = testing::internal::GetCapturedStderr();
    const std::string line = "saved out/checkpoints/step-00000007";
    EXPECT_EQ(logged.find(line) != std::string::npos, rank == 0);
    EXPECT_EQ(logged.find(line), logged.rfind(line));
  }
}

TEST_F(OutputHookTest, FilesThatWereRemovedBeginAnewWithTheNextCheckpoint) {
  for (const int rank : {0, 1}) {
    const std::string log = "logs/rank-" + std::to_string(rank) + ".log";
    JsonlEventLog events(FileSystem::local(), Clock::real(), base_ + "/a/b/events.jsonl", rank);
    OutputHook hook(FileSystem::local(), config_, &events);
    FakeHookContext context;
    context.rank_is = rank;
    ASSERT_OK(hook.start(context));
    ASSERT_OK(hook.before_step(context));
    events.record({});
    MILLRACE_LOG(INFO) << "before";
    ASSERT_OK(hook.after_checkpoint(context, {"first", {}}));
    EXPECT_THAT(read(log), HasSubstr("before")) << "a file that is there goes on";
    std::filesystem::remove_all(base_ + "/a");
    ASSERT_OK(hook.after_checkpoint(context, {"second", {}}));
    MILLRACE_LOG(INFO) << "after";
    events.record({});
    EXPECT_THAT(read(log), AllOf(HasSubstr("after"), Not(HasSubstr("before"))));
    EXPECT_EQ(std::filesystem::exists(base_ + "/a/b/config.textproto"), rank == 0);
    EXPECT_EQ(std::filesystem::exists(base_ + "/a/b/events.jsonl"), rank == 0);
  }
}

// A run without write access fails before writing anything.
TEST_F(OutputHookTest, WhatIsInTheWayInside) {
  namespace fs = std::filesystem;
  const std::string directory = base_ + "/a/b";
  const auto expect_refused = [&](const std::string& name, const std::string& what) {
    const std::string path = directory + "/" + name;
    EXPECT_THAT(check_output_directory(FileSystem::local(), config_.run()),
                StatusIs(absl::StatusCode::kPermissionDenied,
                         "cannot write to output_dir " + directory + ": " + path + " is " + what +
                             "; choose another with --output_dir"));
    fs::remove_all(path);
    EXPECT_OK(check_output_directory(FileSystem::local(), config_.run()));
  };
  for (const std::string name : {"logs", "metrics", "checkpoints"}) {
    fs::create_directories(directory);
    ASSERT_OK(write_file_atomically(FileSystem::local(), directory + "/" + name, "mine"));
    expect_refused(name, "no directory");
    fs::create_symlink("/nowhere", directory + "/" + name);
    expect_refused(name, "a link to nothing");
  }
  for (const std::string name : {"config.textproto", "events.jsonl", "checkpoints/lock", "lock"}) {
    fs::create_directories(directory + "/" + name);
    expect_refused(name, "a directory");
  }
}

TEST_F(OutputHookTest, ALinkToNothingAbove) {
  std::filesystem::create_symlink("/nowhere/at/all", base_ + "/a");
  EXPECT_THAT(
      check_output_directory(FileSystem::local(), config_.run()),
      StatusIs(absl::StatusCode::kPermissionDenied,
               AllOf(HasSubstr(base_ + "/a is a link to nothing"), HasSubstr("--output_dir"))));
}

TEST_F(OutputHookTest, AFileInTheWayOfADirectoryOfSinks) {
  config_.mutable_run()->add_sink()->mutable_csv()->set_directory("sinks/csv");
  const std::string directory = base_ + "/a/b";
  for (const std::string name : {"tensorboard", "sinks"}) {
    std::filesystem::create_directories(directory);
    ASSERT_OK(write_file_atomically(FileSystem::local(), directory + "/" + name, "mine"));
    EXPECT_THAT(check_output_directory(FileSystem::local(), config_.run()),
                StatusIs(absl::StatusCode::kPermissionDenied,
                         HasSubstr(directory + "/" + name + " is no directory")));
    std::filesystem::remove(directory + "/" + name);
    EXPECT_OK(check_output_directory(FileSystem::local(), config_.run()));
  }
}

TEST_F(OutputHookTest, WhatMayNotBeWritten) {
  namespace fs = std::filesystem;
  const std::string directory = base_ + "/a/b";
  for (const std::string name : {"", "/logs", "/metrics", "/checkpoints", "/tensorboard"}) {
    fs::create_directories(directory + name);
    fs::permissions(directory + name, fs::perms(0555));
    absl::Status status;
    {
      const ObeyPermissions obey;
      status = check_output_directory(FileSystem::local(), config_.run());
    }
    EXPECT_THAT(status, StatusIs(absl::StatusCode::kPermissionDenied,
                                 AllOf(HasSubstr(directory + name + " is not writable"),
                                       HasSubstr("--output_dir"))));
    fs::permissions(directory + name, fs::perms(0777));
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
