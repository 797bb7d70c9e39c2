#include "sinks/tensorboard/tensorboard_sink.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

#include "absl/strings/strip.h"
#include "base/checksum/tfrecord.h"
#include "base/clock.h"
#include "base/memory_file_system_testing.h"
#include "base/status_matchers.h"
#include "framework/report/sink_conformance.h"

namespace millrace {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr char kFolder[] = "out/tensorboard";

// Returns the events of all files, in the order in which TensorBoard reads them, except events that
// the beginning of a later run drops.
std::vector<tensorboard::Event> shown(FileSystem& files) {
  std::vector<tensorboard::Event> all;
  const auto entries = files.list(kFolder);
  if (!entries.ok()) return all;
  for (const DirectoryEntry& entry : *entries) {
    const auto events = read_events(*read_file(files, join_path(kFolder, entry.name)));
    EXPECT_OK(events.status());
    if (!events.ok()) continue;
    for (const tensorboard::Event& event : *events) {
      if (event.session_log().status() == tensorboard::SessionLog::START) {
        std::erase_if(all, [&](const auto& old) { return old.step() >= event.step(); });
      }
      all.push_back(event);
    }
  }
  return all;
}

// Returns the scalars of training, or of evaluations with their sets.
std::vector<SinkValue> read_scalars(const SinkInput& input, bool of_training) {
  std::vector<SinkValue> values;
  for (const tensorboard::Event& event : shown(*input.files)) {
    for (const tensorboard::Summary::Value& value : event.summary().value()) {
      absl::string_view name = value.tag();
      if (!value.has_simple_value() || absl::ConsumePrefix(&name, "train/") != of_training) {
        continue;
      }
      values.push_back({event.step(), std::string(name), value.simple_value()});
    }
  }
  return values;
}

std::vector<SinkValue> read_values(const SinkInput& input) { return read_scalars(input, true); }
std::vector<SinkValue> read_evaluations(const SinkInput& input) {
  return read_scalars(input, false);
}

std::unique_ptr<TensorBoardSink> make(FileSystem& files, std::string configuration = "") {
  return std::make_unique<TensorBoardSink>(
      files, Clock::real(),
      TensorBoardSinkOptions{.directory = kFolder, .configuration = std::move(configuration)});
}

[[maybe_unused]] const bool kTensorBoard = register_sink_conformance(
    "TensorBoard", {.make = [](const SinkInput& input) { return make(*input.files); },
                    .read = &read_values,
                    .read_evaluations = &read_evaluations,
                    .holds_figures = true});

TEST(TensorBoardSinkTest, WritesScalarsAndText) {
  MemoryFileSystem files;
  const auto sink = make(files, "train { seed: 1 }");
  ASSERT_OK(sink->start({}));
  Report report;
  report.progress.step = 100;
  report.metrics = {{"loss", 0.5}, {"auc", std::numeric_limits<double>::quiet_NaN()}};
  report.tables["items"].rows = 7;
  ASSERT_OK(sink->write_report(report));
  EvaluationResult result;
  result.set = "eval";
  result.progress.step = 100;
  result.metrics = {{"auc", 0.75}};
  ASSERT_OK(sink->write_evaluation(result));
  ASSERT_OK(sink->flush());

  std::map<std::string, double> scalars;
  std::string text;
  for (const tensorboard::Event& event : shown(files)) {
    for (const tensorboard::Summary::Value& value : event.summary().value()) {
      if (value.has_tensor()) text = value.tensor().string_val(0);
      if (value.has_simple_value()) scalars[value.tag()] = value.simple_value();
    }
  }
  EXPECT_EQ(text, "```\ntrain { seed: 1 }\n```");
  EXPECT_EQ(scalars.at("train/loss"), 0.5);
  EXPECT_EQ(scalars.at("train/table/items/rows"), 7);
  EXPECT_EQ(scalars.at("eval/auc"), 0.75);
  EXPECT_EQ(scalars.count("train/auc"), 0) << "not-a-number is omitted";
}

TEST(TensorBoardSinkTest, NothingIsWrittenBeforeTheFirstReport) {
  MemoryFileSystem files;
  const auto sink = make(files);
  ASSERT_OK(sink->start({}));
  ASSERT_OK(sink->flush());
  EXPECT_FALSE(files.list(kFolder).ok());
}

TEST(TensorBoardSinkTest, ARemovedFileBeginsAnew) {
  MemoryFileSystem files;
  FakeClock clock;
  TensorBoardSink sink(files, clock, {.directory = kFolder, .configuration = "train {}"});
  const auto report = [&](int64_t step) {
    Report report;
    report.progress.step = step;
    EXPECT_OK(sink.write_report(report));
    EXPECT_OK(sink.flush());
    clock.advance(absl::Seconds(1));
  };
  const auto steps = [&] {
    std::vector<int64_t> steps;
    for (const tensorboard::Event& event : shown(files)) {
      for (const tensorboard::Summary::Value& value : event.summary().value()) {
        if (value.tag() == "train/examples_per_second") steps.push_back(event.step());
      }
    }
    return steps;
  };
  ASSERT_OK(sink.start({}));
  report(10);
  ASSERT_OK(remove_recursively(files, "out"));
  ASSERT_OK(sink.flush());
  EXPECT_FALSE(files.info("out").ok()) << "nothing is written without an event";
  report(20);
  report(30);
  EXPECT_THAT(steps(), ElementsAre(20, 30));
  // The start of the new file drops no event of another file.
  files.put(join_path(kFolder, "events.out.tfevents.0"), tfrecord([] {
              tensorboard::Event event;
              event.set_step(10);
              event.mutable_summary()->add_value()->set_tag("train/examples_per_second");
              event.mutable_summary()->mutable_value(0)->set_simple_value(1);
              return event.SerializeAsString();
            }()));
  EXPECT_THAT(steps(), ElementsAre(10, 20, 30));
}

// Returns the one value with this tag.
tensorboard::Summary::Value value_of(FileSystem& files, const std::string& tag) {
  std::vector<tensorboard::Summary::Value> values;
  for (const tensorboard::Event& event : shown(files)) {
    for (const tensorboard::Summary::Value& value : event.summary().value()) {
      if (value.tag() == tag) values.push_back(value);
    }
  }
  EXPECT_EQ(values.size(), 1) << tag;
  return values.empty() ? tensorboard::Summary::Value() : values[0];
}

TEST(TensorBoardSinkTest, WritesHistograms) {
  MemoryFileSystem files;
  const auto sink = make(files);
  EXPECT_TRUE(sink->wants_distributions());
  ASSERT_OK(sink->start({}));
  Report report;
  report.distributions["parameters/bias"] = {.count = 3,
                                             .min = -1,
                                             .max = 2,
                                             .sum = 1.5,
                                             .sum_of_squares = 5.25,
                                             .limits = {0.5, 2},
                                             .counts = {1, 2}};
  ASSERT_OK(sink->write_report(report));
  const tensorboard::Histogram histogram = value_of(files, "parameters/bias").histo();
  EXPECT_EQ(histogram.min(), -1);
  EXPECT_EQ(histogram.max(), 2);
  EXPECT_EQ(histogram.num(), 3);
  EXPECT_EQ(histogram.sum(), 1.5);
  EXPECT_EQ(histogram.sum_squares(), 5.25);
  EXPECT_THAT(histogram.bucket_limit(), ElementsAre(0.5, 2));
  EXPECT_THAT(histogram.bucket(), ElementsAre(1, 2));
}

TEST(TensorBoardSinkTest, WritesPrecisionRecallCurves) {
  MemoryFileSystem files;
  const auto sink = make(files);
  ASSERT_OK(sink->start({}));
  EvaluationResult result;
  result.set = "eval";
  ThresholdWeights& weights = result.thresholds["click"];
  weights.add(0, 0, 0, 2, 6);
  weights.add(0.5, 1, 5, 2, 6);
  weights.add(1, 2, 6, 2, 6);
  ASSERT_OK(sink->write_evaluation(result));
  const tensorboard::Summary::Value value = value_of(files, "eval/click/pr_curve");
  EXPECT_EQ(value.metadata().plugin_data().plugin_name(), "pr_curves");
  tensorboard::PrCurvePluginData data;
  ASSERT_TRUE(data.ParseFromString(value.metadata().plugin_data().content()));
  EXPECT_EQ(data.num_thresholds(), 3);
  ASSERT_EQ(value.tensor().tensor_shape().dim_size(), 2);
  EXPECT_EQ(value.tensor().tensor_shape().dim(0).size(), 6);
  EXPECT_EQ(value.tensor().tensor_shape().dim(1).size(), 3);
  EXPECT_THAT(value.tensor().float_val(), ElementsAre(2, 1, 0,       // true positives
                                                      6, 1, 0,       // false positives
                                                      0, 5, 6,       // true negatives
                                                      0, 1, 2,       // false negatives
                                                      0.25, 0.5, 1,  // precision
                                                      1, 0.5, 0));   // recall
}

TEST(TensorBoardSinkTest, WritesHyperParameters) {
  MemoryFileSystem files;
  TensorBoardSink sink(
      files, Clock::real(),
      {.directory = kFolder,
       .hyper_parameters = {
           {"train.seed", 7.0}, {"train.shuffle", true}, {"train.name", "a\xff"}}});
  ASSERT_OK(sink.start({}));
  ASSERT_OK(sink.write_report(Report()));
  const tensorboard::Summary::Value value = value_of(files, "_hparams_/session_start_info");
  EXPECT_EQ(value.metadata().plugin_data().plugin_name(), "hparams");
  tensorboard::HParamsPluginData data;
  ASSERT_TRUE(data.ParseFromString(value.metadata().plugin_data().content()));
  const auto& parameters = data.session_start_info().hparams();
  EXPECT_EQ(parameters.at("train.seed").number_value(), 7);
  EXPECT_TRUE(parameters.at("train.shuffle").bool_value());
  EXPECT_EQ(parameters.at("train.name").string_value(), "a\uFFFD");
}

}  // namespace
}  // namespace millrace
