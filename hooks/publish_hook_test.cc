#include "hooks/publish_hook.h"

#include <gmock/gmock.h>
#include <google/protobuf/text_format.h>
#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/forwarding_file_system.h"
#include "base/memory_file_system_testing.h"
#include "base/status_macros.h"
#include "base/status_matchers.h"
#include "checkpoint/published/published_folder.h"
#include "checkpoint/testing/small_checkpoint_testing.h"
#include "proto/hook_configs.pb.h"
#include "tests/conformance/hook_conformance.h"
#include "tests/fakes/fake_hook_context.h"

namespace millrace {
namespace {

using ::testing::HasSubstr;

constexpr absl::StatusCode kInvalid = absl::StatusCode::kInvalidArgument;

std::unique_ptr<Hook> make() {
  return std::make_unique<PublishHook>(FileSystem::local(), Clock::real(),
                                       testing::TempDir() + "/published_by_the_suite",
                                       PublishRules());
}
[[maybe_unused]] const bool kPublishHook = register_hook_conformance("PublishHook", {.make = make});

absl::StatusOr<std::unique_ptr<Hook>> create(const std::string& text) {
  HookConfig config;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(
      absl::StrCat("name: 'publish' [millrace.publish] { ", text, " }"), &config));
  return PublishHook::create(config,
                             {FileSystem::local(), Clock::real(), "/out", {}, "/out/published"});
}

TEST(PublishHookTest, TheConfigurationIsChecked) {
  EXPECT_OK(create("").status());
  EXPECT_OK(create("monitor: 'eval/auc' most_worse: 0.01 keep_last: 1").status());
  EXPECT_THAT(create("monitor: 'auc'"), StatusIs(kInvalid, HasSubstr("[millrace.publish]")));
  EXPECT_THAT(create("monitor: 'eval/mean_label'"), StatusIs(kInvalid, HasSubstr("mode")));
  EXPECT_THAT(create("most_worse: -1"), StatusIs(kInvalid, HasSubstr("most_worse")));
  EXPECT_THAT(create("keep_last: 0"), StatusIs(kInvalid, HasSubstr("keep_last")));
}

class PublishHookRunTest : public testing::Test {
 protected:
  void save(int64_t step) {
    ASSERT_OK(write_small_checkpoint(files_, "/out/checkpoints", {.step = step, .seed = step}));
  }
  CheckpointInfo info(int64_t step, int64_t window = 0) {
    CheckpointInfo info{absl::StrCat("/out/checkpoints/step-0000000", step), {}};
    info.progress.step = step;
    info.progress.window = window;
    return info;
  }

  MemoryFileSystem files_;
  FakeClock clock_;
  FakeHookContext context_;
  PublishHook hook_{files_, clock_, "/out/published", {}};
};

TEST_F(PublishHookRunTest, PublishesEachCheckpointAndWaitsAtTheEnd) {
  for (int run = 1; run <= 2; ++run) {
    ASSERT_OK(hook_.start(context_));
    save(run);
    ASSERT_OK(hook_.after_checkpoint(context_, info(run)));
    ASSERT_OK(hook_.end(context_, absl::OkStatus()));
    ASSERT_OK_AND_ASSIGN(const auto served, served_version(files_, "/out/published"));
    ASSERT_TRUE(served.has_value());
    EXPECT_EQ(served->step, run);
  }
}

TEST_F(PublishHookRunTest, AFailureIsToldAndTheNextOneIsTried) {
  ASSERT_OK(hook_.start(context_));
  ASSERT_OK(hook_.after_checkpoint(context_, info(1)));
  EXPECT_EQ(hook_.end(context_, absl::OkStatus()).code(), absl::StatusCode::kNotFound);
  ASSERT_OK(hook_.start(context_));
  ASSERT_OK(hook_.after_checkpoint(context_, info(1)));
  save(2);
  ASSERT_OK(hook_.after_checkpoint(context_, info(2)));
  EXPECT_OK(hook_.end(context_, absl::OkStatus()));
  EXPECT_TRUE(is_published_folder(files_, "/out/published"));
}

// Calls a function once, after the first copy of a checkpoint has its name.
class AfterFirstCopy : public ForwardingFileSystem {
 public:
  AfterFirstCopy(FileSystem& under, std::function<void()> call)
      : ForwardingFileSystem(under), call_(std::move(call)) {}
  absl::Status rename(const std::string& from, const std::string& to) override {
    RETURN_IF_ERROR(ForwardingFileSystem::rename(from, to));
    if (to == "/out/published/step-00000001") std::exchange(call_, [] {})();
    return absl::OkStatus();
  }

 private:
  std::function<void()> call_;
};

TEST_F(PublishHookRunTest, WhatIsSavedWhileOneIsPublishedIsPublishedToo) {
  Hook* saves = nullptr;
  AfterFirstCopy files(files_, [&] {
    save(2);
    ASSERT_OK(saves->after_checkpoint(context_, info(2)));
  });
  PublishHook hook(files, clock_, "/out/published", {});
  saves = &hook;
  ASSERT_OK(hook.start(context_));
  save(1);
  ASSERT_OK(hook.after_checkpoint(context_, info(1)));
  ASSERT_OK(hook.end(context_, absl::OkStatus()));
  ASSERT_OK_AND_ASSIGN(const auto served, served_version(files_, "/out/published"));
  EXPECT_EQ(served->step, 2);
}

TEST_F(PublishHookRunTest, AResumedRunKeepsTheFolderAndAnotherDoesNotGetIt) {
  ASSERT_OK(hook_.start(context_));
  save(1);
  ASSERT_OK(hook_.after_checkpoint(context_, info(1)));
  HookState state;
  ASSERT_OK(hook_.save_state(state));
  ASSERT_OK(hook_.end(context_, absl::OkStatus()));
  PublishHook resumed(files_, clock_, "/out/published", {}),
      other(files_, clock_, "/out/published", {});
  EXPECT_THAT(other.start(context_), StatusIs(absl::StatusCode::kFailedPrecondition,
                                              HasSubstr("versions of another run")));
  const std::vector<HookState> ranks = {state, HookState()};
  ASSERT_OK(resumed.load_state(ranks));
  ASSERT_OK(resumed.start(context_));
  ASSERT_OK(resumed.end(context_, absl::OkStatus()));
}

TEST_F(PublishHookRunTest, OtherRanksAndEvaluationsPublishNothing) {
  for (const bool is_other : {true, false}) {
    context_.rank_is = is_other ? 1 : 0;
    context_.phase_is = is_other ? Phase::kTrain : Phase::kEvaluate;
    ASSERT_OK(hook_.start(context_));
    save(1);
    ASSERT_OK(hook_.after_checkpoint(context_, info(1)));
    ASSERT_OK(hook_.end(context_, absl::OkStatus()));
    EXPECT_FALSE(files_.info("/out/published").ok());
  }
}

}  // namespace
}  // namespace millrace
