#include "tools/output/run_summary.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <limits>
#include <nlohmann/json.hpp>

#include "base/status_matchers.h"
#include "tests/environment/obey_permissions.h"
#include "tests/io_testing/data_files.h"

namespace millrace {
namespace {

using Json = nlohmann::json;

Summary full_summary() {
  Summary summary;
  summary.outcome = Outcome::kStopped;
  summary.stop_reason = "signal SIGTERM";
  summary.progress.step = 7;
  summary.progress.epoch = 1;
  summary.progress.window = 2;
  summary.progress.examples = int64_t{1} << 60;
  summary.progress.skipped_steps = 3;
  summary.progress.skipped_examples = 48;
  summary.progress.elapsed = absl::Milliseconds(2500);
  summary.examples_this_run = 1000;
  summary.elapsed_this_run = absl::Seconds(2);
  summary.dropped_examples = 5;
  summary.bad_examples = 2;
  summary.damaged_windows = 1;
  summary.world_size = 4;
  summary.train = {{"loss", 0.5}, {"auc", 0.75}};
  summary.train_report = {.step = 7, .steps = 2, .examples = 64};
  summary.eval = {{"eval", {{"auc", 0.7}}}, {"fresh", {{"auc", 0.6}}}};
  summary.eval_step = {{"eval", 7}, {"fresh", 5}};
  summary.unknown_shares = {{"eval", {{"items", 0.25}}}};
  summary.best = BestSummary{0.7, 5, "out/checkpoints/step-00000005", "eval/auc, higher is better"};
  summary.checkpoint = "out/checkpoints/step-00000007";
  summary.rows = {{"c1", 12}, {"c2", 0}};
  HookStatistics& sink = summary.hooks["sink"];
  sink.errors = 2;
  sink.first_error = "no route";
  sink.disabled = true;
  sink.events["after_report"] = {3, absl::Milliseconds(500)};
  sink.events["start"] = {1, absl::Milliseconds(250)};
  summary.hooks["idle"];
  summary.times = {.data_wait = absl::Milliseconds(500),
                   .forward = absl::Seconds(1),
                   .backward = absl::Seconds(2),
                   .update = absl::Milliseconds(250),
                   .other = absl::Milliseconds(250)};
  return summary;
}

TEST(SummaryJsonTest, DataWithTheNamesOfBadFiles) {
  DataReport data;
  DataSetReport& train = data.add("train_data");
  train.files = 3;
  train.rows = 500;
  train.bad_files.add("in/b.csv");
  data.add("eval_data \"late\"").in_windows = true;
  data.add("eval_data \"own\"").is_registered = true;
  EXPECT_EQ(Json::parse(summary_json(Summary(), &data))["data"], Json::parse(R"({
    "train_data": {"files": 3, "rows": 500, "bad_files": 1, "bad_file_names": ["in/b.csv"]},
    "eval_data \"late\"": {"bad_files": 0, "bad_file_names": []},
    "eval_data \"own\"": {"bad_files": 0, "bad_file_names": []}})"));
  EXPECT_FALSE(Json::parse(summary_json(Summary())).contains("data"));
}

TEST(SummaryJsonTest, EveryField) {
  const std::string text = summary_json(full_summary());
  EXPECT_EQ(text.back(), '\n');
  EXPECT_EQ(Json::parse(text), Json::parse(R"({
    "outcome": "stopped", "stop_reason": "signal SIGTERM", "error": "",
    "steps": 7, "epochs": 1, "windows": 2, "examples": 1152921504606846976,
    "skipped_steps": 3, "skipped_examples": 48, "dropped_examples": 5, "bad_examples": 2, "damaged_windows": 1,
    "seconds": 2.5, "examples_per_second": 500.0, "world_size": 4,
    "train": {"loss": 0.5, "auc": 0.75},
    "train_report": {"step": 7, "steps": 2, "examples": 64},
    "eval": {"auc": 0.7, "fresh/auc": 0.6},
    "eval_step": {"eval": 7, "fresh": 5},
    "unknown_shares": {"eval": {"items": 0.25}},
    "best": {"score": 0.7, "step": 5, "checkpoint": "out/checkpoints/step-00000005"},
    "rows": {"c1": 12, "c2": 0},
    "checkpoint": "out/checkpoints/step-00000007",
    "hooks": {
      "sink": {"seconds": 0.75, "errors": 2, "first_error": "no route", "disabled": true,
               "events": {"after_report": {"calls": 3, "seconds": 0.5},
                          "start": {"calls": 1, "seconds": 0.25}}},
      "idle": {"seconds": 0.0, "errors": 0, "first_error": "", "disabled": false,
               "events": {}}},
    "time": {"data_wait": 0.5, "forward": 1.0, "backward": 2.0, "exchange": 0.0, "update": 0.25,
             "hooks": 0.0, "evaluation": 0.0, "checkpoint": 0.0, "other": 0.25, "total": 4.0}})"));
}

TEST(SummaryJsonTest, WhatNeverStartedIsStillAnObjectWithEveryField) {
  Summary summary;
  summary.error = "no such file: a.orc";
  const Json json = Json::parse(summary_json(summary));
  EXPECT_EQ(json.size(), Json::parse(summary_json(full_summary())).size());
  EXPECT_EQ(json["outcome"], "failed");
  EXPECT_EQ(json["error"], "no such file: a.orc");
  EXPECT_EQ(json["steps"], 0);
  EXPECT_EQ(json["examples_per_second"], 0);  // not 0/0
  for (const char* map : {"train", "eval", "eval_step", "unknown_shares", "rows", "hooks"})
    EXPECT_EQ(json[map], Json::object()) << map;
}

TEST(SummaryJsonTest, OutcomesAsWords) {
  Summary summary;
  summary.outcome = Outcome::kCompleted;
  EXPECT_EQ(Json::parse(summary_json(summary))["outcome"], "completed");
}

TEST(SummaryJsonTest, WhatIsNoNumberIsNull) {
  Summary summary;
  summary.train["auc"] = std::numeric_limits<double>::quiet_NaN();
  summary.eval["eval"]["loss"] = std::numeric_limits<double>::infinity();
  const Json json = Json::parse(summary_json(summary));
  EXPECT_TRUE(json["train"]["auc"].is_null());
  EXPECT_TRUE(json["eval"]["loss"].is_null());
}

TEST(SummaryJsonTest, AnyBytesInTextsGiveValidJson) {
  Summary summary;
  summary.error = "\"quoted\"\n\x01 and \xff\xfe no UTF-8";
  summary.stop_reason = "π";
  summary.checkpoint = "a\\b";
  const Json json = Json::parse(summary_json(summary));
  EXPECT_EQ(json["stop_reason"], "π");
  EXPECT_EQ(json["checkpoint"], "a\\b");
  EXPECT_EQ(json["error"].get<std::string>().substr(0, 8), "\"quoted\"");
}

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
namespace fs = std::filesystem;

class SummaryFileTest : public testing::Test {
 protected:
  std::string path(const std::string& name) const { return join_path(folder_, name); }
  SummaryFile file(const std::string& path, bool overwrite = false) {
    return SummaryFile(files_, path, overwrite);
  }
  void write(const std::string& name, const std::string& content) {
    ASSERT_OK(write_file_atomically(files_, path(name), content));
  }
  void expect_mine(const std::string& name) {
    EXPECT_THAT(read_file(files_, path(name)), IsOkAndHolds("mine"));
  }

  FileSystem& files_ = FileSystem::local();
  const std::string folder_ = fresh_test_dir();
};

TEST_F(SummaryFileTest, WhereItCannotBeWrittenIsKnownBefore) {
  EXPECT_OK(file("").check());
  EXPECT_OK(file("s.json").check());
  EXPECT_OK(file(path("s.json")).check());
  EXPECT_OK(file("/dev/null").check());
  for (const std::string& place : {folder_, path("none/s.json")}) {
    const auto denied = StatusIs(absl::StatusCode::kPermissionDenied,
                                 AllOf(HasSubstr("--summary"), HasSubstr(place)));
    EXPECT_THAT(file(place).check(), denied);
    EXPECT_THAT(file(place).write("{}"), denied);
  }
  EXPECT_THAT(file("~/s.json").check(),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("--summary: \"~/s.json\"")));
}

TEST_F(SummaryFileTest, ADirectoryThatMayNotBeWrittenToIsKnownBefore) {
  fs::permissions(folder_, fs::perms(0555));
  const ObeyPermissions obey;
  EXPECT_THAT(file(path("s.json")).check(),
              StatusIs(absl::StatusCode::kPermissionDenied,
                       AllOf(HasSubstr("--summary"), HasSubstr(folder_ + " is not writable"))));
  fs::permissions(folder_, fs::perms(0777));
}

TEST_F(SummaryFileTest, Writes) {
  EXPECT_OK(file("").write("{}"));
  EXPECT_OK(file(path("s.json")).write("{}\n"));
  EXPECT_THAT(read_file(files_, path("s.json")), IsOkAndHolds("{}\n"));
}

TEST_F(SummaryFileTest, EndsACommand) {
  const SummaryFile summary = file(path("s.json"));
  EXPECT_THAT(summary.end_command({}, absl::OkStatus()), IsOkAndHolds(0));
  EXPECT_THAT(read_file(files_, path("s.json")), IsOkAndHolds(HasSubstr("\"completed\"")));
  const absl::Status failure = absl::NotFoundError("no such checkpoint");
  EXPECT_THAT(summary.end_command({}, failure), StatusIs(failure.code()));
  EXPECT_THAT(read_file(files_, path("s.json")),
              IsOkAndHolds(AllOf(HasSubstr("\"failed\""), HasSubstr("no such checkpoint"))));
  EXPECT_THAT(file(folder_).end_command({}, absl::OkStatus()),
              StatusIs(absl::StatusCode::kPermissionDenied));
}

TEST_F(SummaryFileTest, FilesOfAnotherKindStay) {
  write("mine", "mine");
  SummaryFile summary = file(path("mine"));
  const auto denied = StatusIs(absl::StatusCode::kPermissionDenied,
                               AllOf(HasSubstr("--summary"), HasSubstr("--overwrite")));
  EXPECT_THAT(summary.write("{}"), denied) << "before the checks";
  EXPECT_OK(summary.check());
  EXPECT_THAT(summary.check_inputs([] { return std::vector<RunInput>(); }), denied);
  EXPECT_THAT(summary.write("{}"), denied) << "whatever came of the checks";
  fs::create_symlink("mine", path("link"));
  EXPECT_THAT(file(path("link")).write("{}"), denied);
  expect_mine("mine");
  write("empty", "");
  EXPECT_OK(file(path("empty")).check());
  EXPECT_OK(file(path("empty")).write("{}"));
}

TEST_F(SummaryFileTest, OverwriteCountsOnceTheInputsAreKnown) {
  write("mine", "mine");
  SummaryFile summary = file(path("mine"), /*overwrite=*/true);
  EXPECT_OK(summary.check());
  EXPECT_FALSE(summary.write("{}").ok());
  expect_mine("mine");
  EXPECT_OK(summary.check_inputs([] { return std::vector<RunInput>(); }));
  EXPECT_OK(summary.write("{}"));
  EXPECT_THAT(read_file(files_, path("mine")), IsOkAndHolds("{}"));
}

// The error does not recommend --overwrite, which inputs do not allow.
TEST_F(SummaryFileTest, InputsAreNeverReplaced) {
  write("mine", "mine");
  const std::vector<RunInput> inputs = {{"a file of train.train_data", path("mine")}};
  for (const bool overwrite : {false, true}) {
    SummaryFile summary = file(path("mine"), overwrite);
    EXPECT_THAT(summary.check_inputs([&] { return inputs; }),
                StatusIs(absl::StatusCode::kInvalidArgument,
                         AllOf(HasSubstr("--summary"), HasSubstr("a file of train.train_data"),
                               Not(HasSubstr("--overwrite")))));
    EXPECT_OK(summary.write("{}")) << "nothing is written any more";
    expect_mine("mine");
  }
}

TEST_F(SummaryFileTest, InputsAreFoundOnlyForAFile) {
  SummaryFile none = file("");
  EXPECT_OK(none.check_inputs([]() -> std::vector<RunInput> {
    ADD_FAILURE() << "nothing to compare them with";
    return {};
  }));
}

TEST_F(SummaryFileTest, WhatIsNoFileIsWrittenToRatherThanReplaced) {
  const std::string link = path("link");
  // Through links in a folder of the test: a mistake must not replace the machine's devices.
  for (const std::string& to :
       {path("target"), std::string("/dev/null"), std::string("/dev/full")}) {
    fs::remove(link);
    fs::create_symlink(to, link);
    const absl::Status status = file(link).write("{}\n");
    if (to == "/dev/full") {
      EXPECT_THAT(status, StatusIs(absl::StatusCode::kResourceExhausted, HasSubstr("--summary")));
    } else {
      EXPECT_OK(status);
    }
    EXPECT_TRUE(fs::is_symlink(link)) << to;
  }
  EXPECT_THAT(read_file(files_, path("target")), IsOkAndHolds("{}\n"));
}

// As with --summary /dev/stdout > log.
TEST_F(SummaryFileTest, WhatAnOpenFileHoldsStays) {
  ASSERT_OK_AND_ASSIGN(const auto log, files_.open_for_append(path("log")));
  ASSERT_OK(log->append("before\n"));
  for (int descriptor = 3; descriptor < 64; ++descriptor) {
    const std::string name = "/proc/self/fd/" + std::to_string(descriptor);
    std::error_code error;
    if (fs::read_symlink(name, error) != fs::path(path("log"))) continue;
    EXPECT_OK(file(name).check());
    EXPECT_OK(file(name).write("{}\n"));
  }
  EXPECT_THAT(read_file(files_, path("log")), IsOkAndHolds("before\n{}\n"));
}

TEST(TimesTextTest, PartsAddUp) {
  const RunTimes times{.data_wait = absl::Milliseconds(2),
                       .forward = absl::Milliseconds(500),
                       .backward = absl::Milliseconds(250),
                       .update = absl::Milliseconds(125),
                       .hooks = absl::Milliseconds(3),
                       .checkpoint = absl::Milliseconds(100),
                       .other = absl::Milliseconds(20)};
  EXPECT_EQ(times_text(times),
            "time         seconds    share\n"
            "forward         0.50   50.0 %\n"
            "backward        0.25   25.0 %\n"
            "update          0.12   12.5 %\n"
            "checkpoints     0.10   10.0 %\n"
            "other           0.02    2.5 %\n"
            "total           1.00  100.0 %\n");
}

TEST(TimesTextTest, ARunWithoutTimeHasNoTable) { EXPECT_EQ(times_text({}), ""); }

}  // namespace
}  // namespace millrace
