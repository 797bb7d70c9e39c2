#include "hooks/metric_report_hook.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "base/clock.h"
#include "base/fault_file_system_testing.h"
#include "base/status_matchers.h"
#include "tests/conformance/hook_conformance.h"
#include "tests/fakes/fake_hook_context.h"
#include "tests/fakes/tiny_trainer.h"

namespace millrace {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;

// Returns a directory of this test, not yet created.
std::string directory() {
  const auto* test = testing::UnitTest::GetInstance()->current_test_info();
  return absl::StrCat(testing::TempDir(), "/", test->test_suite_name(), ".", test->name(),
                      "/metrics");
}

// Returns the objects of a file, one per line.
std::vector<json> lines(absl::string_view name) {
  auto text = read_file(FileSystem::local(), join_path(directory(), name));
  EXPECT_OK(text);
  std::vector<json> objects;
  if (!text.ok()) return objects;
  EXPECT_EQ(text->back(), '\n');
  for (absl::string_view line : absl::StrSplit(*text, '\n', absl::SkipEmpty())) {
    objects.push_back(json::parse(std::string(line)));
  }
  return objects;
}

bool exists(absl::string_view name) {
  return FileSystem::local().info(join_path(directory(), name)).ok();
}

Report full_report() {
  Report report;
  report.progress = {.step = 100,
                     .examples = 51200,
                     .epoch = 1,
                     .window = 2,
                     .skipped_steps = 3,
                     .elapsed = absl::Milliseconds(2500)};
  report.steps = 100;
  report.examples = 51200;
  report.examples_per_second = 20480.5;
  report.rows_per_second = 40961;
  report.bytes_per_second = 1024.25;
  report.data_wait_share = 0.25;
  report.metrics = {{"auc", std::nan("")}, {"loss", 0.5}};
  report.values = {{"clicks", std::numeric_limits<double>::infinity()}, {"mean \"x\"", 2}};
  report.learning_rates = {{"dense", 0.001}};
  TableReport& table = report.tables["items"];
  table.rows = 12;
  table.bytes = 3456;
  table.load = 0.5;
  table.candidates = 7;
  table.inserted = 4;
  table.evicted = {{"idle_steps", 3}, {"limit", 2}};
  table.unadmitted = 30;
  table.unique_share = 0.25;
  table.hottest_share = 0.125;
  table.unknown_share = 0.75;
  report.process = {.cores = 1.5,
                    .resident_bytes = 4096,
                    .major_faults = 1,
                    .minor_faults = 20,
                    .bytes_read = 300};
  return report;
}

[[maybe_unused]] const bool kMetricReportHook = register_hook_conformance(
    "MetricReportHook",
    {.make = [] { return std::make_unique<MetricReportHook>(FileSystem::local(), directory()); }});

TEST(MetricReportHookTest, EveryFieldOfAReport) {
  FakeHookContext context;
  FakeClock clock(absl::FromUnixMillis(1795773801243));
  MetricReportHook hook(FileSystem::local(), directory(), clock);
  ASSERT_OK(hook.after_report(context, full_report()));
  ASSERT_OK(hook.end(context, absl::OkStatus()));
  const std::vector<json> objects = lines("train.jsonl");
  ASSERT_EQ(objects.size(), 1);
  EXPECT_EQ(objects[0], json::parse(R"({
    "step": 100, "examples": 51200, "epoch": 1, "window": 2, "skipped_steps": 3, "seconds": 2.5,
    "examples_per_second": 20480.5, "rows_per_second": 40961.0, "bytes_per_second": 1024.25,
    "data_wait_share": 0.25,
    "metrics": {"auc": null, "loss": 0.5}, "values": {"clicks": null, "mean \"x\"": 2.0},
    "learning_rates": {"dense": 0.001}, "tables": {"items": {
      "rows": 12, "bytes": 3456, "load": 0.5, "candidates": 7, "inserted": 4,
      "evicted": {"idle_steps": 3, "limit": 2}, "unadmitted": 30, "unique_share": 0.25,
      "hottest_share": 0.125, "unknown_share": 0.75}},
    "process": {"cores": 1.5, "resident_bytes": 4096, "major_faults": 1, "minor_faults": 20,
      "bytes_read": 300},
    "time": "2026-11-27T10:03:21.243Z", "infinite": {"values/clicks": 1}})"));
  EXPECT_FALSE(exists("eval.jsonl")) << "files come with their first line";
}

TEST(MetricReportHookTest, EveryFieldOfSeveralRanks) {
  FakeHookContext context;
  MetricReportHook hook(FileSystem::local(), directory());
  Report report = full_report();
  report.ranks = {.other_ranks_share = 0.25,
                  .owners_share = 0.125,
                  .gradients_share = 0.0625,
                  .transfer_share = 0.5,
                  .ids_bytes = 800,
                  .rows_bytes = 25600.5,
                  .sums_bytes = 26000,
                  .owner_imbalance = 1.5};
  ASSERT_OK(hook.after_report(context, report));
  ASSERT_OK(hook.end(context, absl::OkStatus()));
  EXPECT_EQ(lines("train.jsonl").at(0)["ranks"], json::parse(R"({
    "waiting": {"other_ranks": 0.25, "owners": 0.125, "gradients": 0.0625, "transfer": 0.5},
    "bytes_per_step": {"ids": 800, "rows": 25600.5, "sums": 26000}, "owner_imbalance": 1.5})"));
}

TEST(MetricReportHookTest, EveryFieldOfAnEvaluation) {
  FakeHookContext context;
  FakeClock clock;
  MetricReportHook hook(FileSystem::local(), directory(), clock);
  EvaluationResult result;
  result.set = "part5";
  result.progress.step = 9;
  result.examples = 10000;
  result.elapsed = absl::Milliseconds(1500);
  result.metrics = {{"auc", 0.75}};
  result.values = {{"mean_logit", std::nan("")}};
  result.unknown_shares = {{"items", 0.25}};
  ASSERT_OK(hook.after_evaluate(context, result));
  ASSERT_OK(hook.end(context, absl::OkStatus()));
  const std::vector<json> objects = lines("eval.jsonl");
  ASSERT_EQ(objects.size(), 1);
  EXPECT_EQ(objects[0], json::parse(R"({
    "step": 9, "examples": 0, "epoch": 0, "window": 0, "skipped_steps": 0, "seconds": 0.0,
    "set": "part5", "evaluated_examples": 10000, "evaluation_seconds": 1.5,
    "metrics": {"auc": 0.75}, "values": {"mean_logit": null},
    "unknown_shares": {"items": 0.25}, "time": "1970-01-01T00:00:00.000Z"})"));
  EXPECT_FALSE(exists("train.jsonl"));
}

TEST(MetricReportHookTest, AFileThatIsRemovedBeginsAnewAfterTheNextCheckpoint) {
  for (const int64_t first_step : {0, 50}) {
    remove_recursively(FileSystem::local(), directory()).IgnoreError();
    FakeHookContext context;
    context.at.step = first_step;
    MetricReportHook hook(FileSystem::local(), directory());
    ASSERT_OK(hook.start(context));
    Report report = full_report();
    const auto write = [&](int64_t step) {
      report.progress.step = step;
      EXPECT_OK(hook.after_report(context, report));
    };
    write(100);
    ASSERT_OK(hook.after_checkpoint(context, {}));
    write(200);
    EXPECT_EQ(lines("train.jsonl").size(), 2) << "a file that is there goes on";
    ASSERT_OK(remove_recursively(FileSystem::local(), directory()));
    ASSERT_OK(hook.after_checkpoint(context, {}));
    write(300);
    const std::vector<json> objects = lines("train.jsonl");
    ASSERT_EQ(objects.size(), 1) << first_step;
    EXPECT_EQ(objects[0]["step"], 300);
    HookState state;
    ASSERT_OK(hook.save_state(state));
    EXPECT_THAT(state.bytes,
                testing::StartsWith(absl::StrCat(
                    FileSystem::local().info(directory() + "/train.jsonl")->size_bytes, " ")));
    ASSERT_OK(hook.end(context, absl::OkStatus()));
  }
}

TEST(MetricReportHookTest, NoReportMakesNoFile) {
  FakeHookContext context;
  MetricReportHook hook(FileSystem::local(), directory());
  ASSERT_OK(hook.start(context));
  ASSERT_OK(hook.end(context, absl::OkStatus()));
  EXPECT_FALSE(FileSystem::local().info(directory()).ok());
}

TEST(MetricReportHookTest, ARunFromStepZeroBeginsNewFiles) {
  for (int run = 1; run <= 2; ++run) {
    TinyTrainerOptions options;
    options.trainer.report = {.every_steps = 2};
    options.train.sparse = 1;
    std::unique_ptr<Trainer> trainer = tiny_trainer(options);
    ASSERT_OK(
        trainer->add_hook(std::make_unique<MetricReportHook>(FileSystem::local(), directory())));
    ASSERT_OK(trainer->train_and_evaluate());
    const std::vector<json> train = lines("train.jsonl");
    ASSERT_EQ(train.size(), 2) << run;
    EXPECT_EQ(train.back()["step"], 4);
    EXPECT_TRUE(train.back()["metrics"]["loss"].is_number());
    EXPECT_GT(train.back()["tables"]["items"]["rows"], 0);
    ASSERT_EQ(lines("eval.jsonl").size(), 1) << run;
    EXPECT_EQ(lines("eval.jsonl").back()["set"], "eval");
  }
}

// Writes a report of each step, like a run that begins at `from`.
void report_steps(int64_t from, const std::vector<int64_t>& steps) {
  FakeHookContext context;
  context.at.step = from;
  MetricReportHook hook(FileSystem::local(), directory());
  ASSERT_OK(hook.start(context));
  for (const int64_t step : steps) {
    Report report = full_report();
    report.progress.step = step;
    ASSERT_OK(hook.after_report(context, report));
  }
  ASSERT_OK(hook.end(context, absl::OkStatus()));
}

std::vector<int64_t> reported_steps() {
  std::vector<int64_t> steps;
  for (const json& line : lines("train.jsonl")) steps.push_back(line["step"]);
  return steps;
}

TEST(MetricReportHookTest, AContinuedRunAppends) {
  report_steps(0, {10, 20});
  report_steps(20, {30});
  EXPECT_THAT(reported_steps(), testing::ElementsAre(10, 20, 30));
}

TEST(MetricReportHookTest, AContinuedRunDropsWhatIsBeyondWhereItBegins) {
  report_steps(0, {10, 20, 30});
  const std::string path = join_path(directory(), "train.jsonl");
  ASSERT_OK_AND_ASSIGN(std::string text, read_file(FileSystem::local(), path));
  text += "{\"step\":15,\"exam";  // its process was killed
  ASSERT_OK(write_file_atomically(FileSystem::local(), path, text));
  report_steps(20, {21});
  EXPECT_THAT(reported_steps(), testing::ElementsAre(10, 20, 21));
  report_steps(5, {});
  EXPECT_THAT(reported_steps(), testing::ElementsAre(10, 20, 21)) << "nothing was to be written";
}

// Lines of the step itself may be from before the checkpoint and from after.
TEST(MetricReportHookTest, AContinuedRunKnowsWhatWasWrittenBeforeTheCheckpoint) {
  FakeHookContext context;
  Report report = full_report();
  report.progress.step = 20;
  HookState state;
  {
    MetricReportHook hook(FileSystem::local(), directory());
    ASSERT_OK(hook.start(context));
    ASSERT_OK(hook.after_report(context, report));
    ASSERT_OK(hook.save_state(state));
    ASSERT_OK(hook.after_report(context, report));
    EvaluationResult result;
    result.progress.step = 20;
    ASSERT_OK(hook.after_evaluate(context, result));
    ASSERT_OK(hook.end(context, absl::OkStatus()));
  }
  EXPECT_EQ(lines("train.jsonl").size(), 2u);
  MetricReportHook hook(FileSystem::local(), directory());
  ASSERT_OK(hook.load_state({&state, 1}));
  context.at.step = 20;
  ASSERT_OK(hook.start(context));
  report.progress.step = 21;
  ASSERT_OK(hook.after_report(context, report));
  EvaluationResult result;
  result.progress.step = 21;
  ASSERT_OK(hook.after_evaluate(context, result));
  ASSERT_OK(hook.end(context, absl::OkStatus()));
  EXPECT_THAT(reported_steps(), testing::ElementsAre(20, 21));
  ASSERT_EQ(lines("eval.jsonl").size(), 1u);
  EXPECT_EQ(lines("eval.jsonl")[0]["step"], 21);
  for (const HookState& bad : {HookState{2, "1 2"}, HookState{1, "1"}, HookState{1, "a b"}}) {
    EXPECT_THAT(hook.load_state({&bad, 1}), StatusIs(absl::StatusCode::kInvalidArgument));
  }
}

// A checkpoint counts durable lines only. If any call of the file system fails, the checkpoint is
// saved, and the error is returned afterwards.
TEST(MetricReportHookTest, LinesAreDurableBeforeTheCheckpoint) {
  FakeHookContext context;
  int64_t failed = 0;
  for (bool more = true; more; ++failed) {
    FaultFileSystem files(FileSystem::local());
    MetricReportHook hook(files, directory());
    ASSERT_OK(hook.start(context));
    ASSERT_OK(hook.after_report(context, full_report()));
    ASSERT_OK(hook.after_evaluate(context, {}));
    const int64_t before = files.calls();
    files.fail(before + failed, 1, absl::ResourceExhaustedError("injected"));
    HookState state;
    ASSERT_OK(hook.save_state(state));
    EXPECT_FALSE(state.empty());
    more = files.calls() > before + failed;
    EXPECT_EQ(hook.after_checkpoint(context, {}).ok(), !more) << failed;
    ASSERT_OK(hook.after_checkpoint(context, {})) << "reported once";
    ASSERT_OK(hook.end(context, absl::OkStatus()));
  }
  EXPECT_EQ(failed, 7) << "both files are found and synced, and so are their directories";
}

TEST(MetricReportHookTest, LinesCanBeReadWhileTheRunGoesOn) {
  FakeHookContext context;
  MetricReportHook hook(FileSystem::local(), directory());
  ASSERT_OK(hook.after_report(context, full_report()));
  EXPECT_EQ(lines("train.jsonl").size(), 1);
}

TEST(MetricReportHookTest, OnlyRank0Writes) {
  FakeHookContext context;
  context.rank_is = 1;
  MetricReportHook hook(FileSystem::local(), directory());
  ASSERT_OK(hook.after_report(context, full_report()));
  ASSERT_OK(hook.after_evaluate(context, {}));
  EXPECT_FALSE(FileSystem::local().info(directory()).ok());
}

TEST(MetricReportHookTest, AFileInTheWayIsNamed) {
  const std::string parent = directory().substr(0, directory().rfind('/'));
  ASSERT_OK(FileSystem::local().create_directories(parent));
  ASSERT_OK(write_file_atomically(FileSystem::local(), directory(), "in the way"));
  std::unique_ptr<Trainer> trainer = tiny_trainer();
  ASSERT_OK(
      trainer->add_hook(std::make_unique<MetricReportHook>(FileSystem::local(), directory())));
  EXPECT_THAT(trainer->train().status().ToString(),
              testing::AllOf(HasSubstr("hook metric_report"), HasSubstr(directory())));
}

// If any call of the file system fails, the error is returned and nothing crashes.
TEST(MetricReportHookTest, EveryFailureComesOut) {
  FakeHookContext context;
  for (int64_t n = 0;; ++n) {
    FaultFileSystem files(FileSystem::local());
    files.fail(n, 1, absl::ResourceExhaustedError("injected"));
    MetricReportHook hook(files, directory());
    absl::Status status = hook.after_report(context, full_report());
    status.Update(hook.after_evaluate(context, {}));
    status.Update(hook.end(context, status));
    if (files.calls() <= n) {
      EXPECT_OK(status);
      EXPECT_GT(n, 5);
      break;
    }
    EXPECT_THAT(status, StatusIs(absl::StatusCode::kResourceExhausted)) << "call " << n;
  }
}

}  // namespace
}  // namespace millrace
