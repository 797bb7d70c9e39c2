#include "hooks/example_trace_hook.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "base/memory_file_system_testing.h"
#include "base/status_matchers.h"
#include "tests/conformance/hook_conformance.h"
#include "tests/fakes/fake_hook_context.h"
#include "tests/fakes/fake_windowed_dataset.h"
#include "tests/fakes/tiny_trainer.h"

namespace millrace {
namespace {

using nlohmann::json;

class ExampleTraceHookTest : public testing::Test {
 protected:
  std::vector<json> lines(const std::string& name) {
    std::vector<json> lines;
    const auto text = read_file(files_, "trace/rank-0/" + name);
    EXPECT_OK(text);
    if (!text.ok()) return lines;
    for (const absl::string_view line : absl::StrSplit(*text, '\n', absl::SkipEmpty())) {
      lines.push_back(json::parse(line.begin(), line.end()));
    }
    return lines;
  }
  std::vector<std::string> names() {
    std::vector<std::string> names;
    const auto entries = files_.list("trace/rank-0");
    EXPECT_OK(entries);
    for (const DirectoryEntry& entry : *entries) names.push_back(entry.name);
    return names;
  }
  std::unique_ptr<Trainer> trainer(int64_t max_steps, std::vector<FakeWindow> windows = {}) {
    TinyTrainerOptions options;
    options.trainer.max_steps = max_steps;
    options.trainer.micro_batches = 2;
    options.train = {.batches = 6, .batch_size = 3, .nan_at = 3};
    TrainerParts parts = tiny_parts(options);
    if (!windows.empty()) {
      parts.train_data = std::make_unique<FakeWindowedDataset>(options.train, windows);
    }
    auto trainer = Trainer::create(options.trainer, std::move(parts));
    EXPECT_OK(trainer.status());
    EXPECT_OK((*trainer)->add_hook(std::make_unique<ExampleTraceHook>(files_, "trace")));
    return *std::move(trainer);
  }
  MemoryFileSystem files_;
};

[[maybe_unused]] const bool kExampleTraceHook =
    register_hook_conformance("ExampleTraceHook", {.make = [] {
                                static MemoryFileSystem files;
                                return std::make_unique<ExampleTraceHook>(files, "trace");
                              }});

TEST_F(ExampleTraceHookTest, WritesTheIdsOfEachStep) {
  ASSERT_OK(trainer(2, {{.batches = 2}, {.batches = 2}})->train().status());
  const std::vector<json> steps = lines("from-00000000.jsonl");
  ASSERT_EQ(steps.size(), 2u);
  EXPECT_EQ(steps[0]["step"], 1);
  EXPECT_EQ(steps[0]["window"], 0);
  EXPECT_EQ(steps[0]["ids"], (json{0, 1, 2, 3, 4, 5}));
  EXPECT_EQ(steps[1]["window"], 1);
}

TEST_F(ExampleTraceHookTest, ARunThatGoesOnBeginsAFile) {
  ASSERT_OK(trainer(2)->train().status());
  ASSERT_OK(trainer(2)->train().status()) << "anew";
  EXPECT_THAT(names(), testing::ElementsAre("from-00000000.jsonl"));
  EXPECT_EQ(lines("from-00000000.jsonl").size(), 2u);
  files_.put("trace/rank-0/from-00000009.jsonl", "");
  files_.put("trace/rank-0/notes", "of somebody else");
  const auto twice = trainer(0);
  ASSERT_OK(twice->train().status());
  EXPECT_THAT(names(), testing::ElementsAre("from-00000000.jsonl", "notes"));
}

TEST_F(ExampleTraceHookTest, AResumedRunRemovesLinesThatACrashLeft) {
  const auto line = [](int64_t step) {
    return absl::StrCat("{\"step\":", step, ",\"epoch\":0,\"window\":0,\"ids\":[7]}\n");
  };
  const std::string kept = line(1) + line(2);
  const std::string name = "trace/rank-0/from-00000000.jsonl";
  for (const std::string& torn : {line(3) + "{\"step\":4,\"ep", std::string(5, '\0'),
                                  std::string(5, '\0') + "\n" + line(4)}) {
    files_.put(name, kept + torn);
    files_.put("trace/rank-1/from-00000000.jsonl", kept + torn);
    ExampleTraceHook hook(files_, "trace");
    FakeHookContext context;
    context.at.step = 2;
    ASSERT_OK(hook.start(context));
    EXPECT_THAT(read_file(files_, name), IsOkAndHolds(kept)) << "also without a step";
    EXPECT_THAT(read_file(files_, "trace/rank-1/from-00000000.jsonl"), IsOkAndHolds(kept));
    context.at.step = 3;
    StepResult result;
    result.applied = true;
    ASSERT_OK(hook.after_step(context, result));
    EXPECT_EQ(lines("from-00000002.jsonl").size(), 1u);
  }
}

TEST_F(ExampleTraceHookTest, AFileThatIsRemovedIsFollowedByOneAfterTheNextCheckpoint) {
  ExampleTraceHook hook(files_, "trace");
  FakeHookContext context;
  const auto step = [&](int64_t number) {
    context.at.step = number;
    StepResult result;
    result.applied = true;
    EXPECT_OK(hook.after_step(context, result));
  };
  ASSERT_OK(hook.start(context));
  step(1);
  ASSERT_OK(hook.after_checkpoint(context, {}));
  step(2);
  EXPECT_EQ(lines("from-00000000.jsonl").size(), 2u) << "a file that is there goes on";
  ASSERT_OK(files_.remove("trace/rank-0/from-00000000.jsonl"));
  step(3);
  ASSERT_OK(hook.after_checkpoint(context, {}));
  step(4);
  EXPECT_THAT(names(), testing::ElementsAre("from-00000003.jsonl"));
  ASSERT_EQ(lines("from-00000003.jsonl").size(), 1u);
  EXPECT_EQ(lines("from-00000003.jsonl")[0]["step"], 4);
}

TEST_F(ExampleTraceHookTest, FilesOfRanksThatAreNoMore) {
  files_.put("trace/rank-1/from-00000000.jsonl", "done anew");
  files_.put("trace/rank-2/from-00000004.jsonl", "too");
  ASSERT_OK(trainer(2)->train().status());
  for (const std::string rank : {"trace/rank-1", "trace/rank-2"}) {
    ASSERT_OK_AND_ASSIGN(const std::vector<DirectoryEntry> entries, files_.list(rank));
    EXPECT_TRUE(entries.empty()) << rank;
  }
}

TEST_F(ExampleTraceHookTest, WhatIsRefusedIsLeftOut) {
  TinyTrainerOptions options;
  options.train = {.batches = 4, .batch_size = 3, .nan_at = 1};
  const auto trainer = tiny_trainer(options);
  ASSERT_OK(trainer->add_hook(std::make_unique<ExampleTraceHook>(files_, "trace")));
  const auto summary = trainer->train();
  const std::vector<json> steps = lines("from-00000000.jsonl");
  EXPECT_EQ(static_cast<int64_t>(steps.size()), trainer->progress().step);
  EXPECT_LT(steps.size(), 4u);
}

}  // namespace
}  // namespace millrace
