#include "tools/output/summary_json.h"

#include <gtest/gtest.h>

#include <limits>
#include <nlohmann/json.hpp>

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

}  // namespace
}  // namespace millrace
