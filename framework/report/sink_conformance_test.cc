// Checks typical sinks of jobs against the suite, and checks that the suite detects every fault.

#include "framework/report/sink_conformance.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <stdexcept>

#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "base/status_macros.h"
#include "base/status_matchers.h"

namespace millrace {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

// Discards everything.
class NullSink : public Sink {
 public:
  absl::Status write_report(const Report&) override { return absl::OkStatus(); }
  absl::Status write_evaluation(const EvaluationResult&) override { return absl::OkStatus(); }
};

[[maybe_unused]] const bool kNull = register_sink_conformance(
    "NullSink", {.make = [](const SinkInput&) { return std::make_unique<NullSink>(); }});

std::string path_of(const SinkInput& input) { return join_path(input.output_dir, "values"); }

// Returns the values in the file whose name begins with `prefix`; none if the file is missing.
std::vector<SinkValue> read_values(const SinkInput& input, absl::string_view prefix) {
  const absl::StatusOr<std::string> text = read_file(*input.files, path_of(input));
  std::vector<SinkValue> values;
  if (!text.ok()) return values;
  for (const absl::string_view line : absl::StrSplit(*text, '\n', absl::SkipEmpty())) {
    const std::vector<std::string> parts = absl::StrSplit(line, '\t');
    SinkValue& value = values.emplace_back();
    EXPECT_TRUE(absl::SimpleAtoi(parts.at(0), &value.step));
    EXPECT_TRUE(absl::CUnescape(parts.at(1), &value.name));
    EXPECT_TRUE(absl::SimpleAtod(parts.at(2), &value.value));
    if (!absl::StartsWith(value.name, prefix)) values.pop_back();
  }
  return values;
}

// Writes metrics into a file, one per line: metrics of reports as train/NAME, metrics of
// evaluations as eval/SET/NAME. Has the given fault.
class FaultySink : public Sink {
 public:
  enum class Fault {
    kNone,
    kNeedsMetrics,
    kNeedsFiniteValues,
    kFailsAtLongNames,
    kFlushesOnlyRuns,
    kStartsOnce,
    kFlushesNothing,
    kKeepsAllSteps,
    kDiscardsEvaluations,
    kKeepsAllEvaluations,
    kKeepsFirstStep,
    kDropsFirstStep,
    kConfusesSets,
  };
  FaultySink(Fault fault, const SinkInput& input) : fault_(fault), input_(input) {}

  absl::Status start(const SinkStart& start) override {
    if (fault_ == Fault::kStartsOnce && started_) return absl::FailedPreconditionError("started");
    started_ = true;
    values_ = read_values(input_, /*prefix=*/"");
    std::erase_if(values_, [&](const SinkValue& value) { return is_replaced(value, start); });
    return absl::OkStatus();
  }
  absl::Status write_report(const Report& report) override {
    if (fault_ == Fault::kNeedsMetrics && report.metrics.empty()) {
      return absl::InvalidArgumentError("no metrics");
    }
    for (const auto& [name, value] : report.metrics) {
      if (fault_ == Fault::kNeedsFiniteValues && !std::isfinite(value)) {
        return absl::InvalidArgumentError("not finite");
      }
      if (fault_ == Fault::kFailsAtLongNames && name.size() > 1000) throw std::length_error(name);
      values_.push_back({report.progress.step, absl::StrCat("train/", name), value});
    }
    return absl::OkStatus();
  }
  absl::Status write_evaluation(const EvaluationResult& result) override {
    if (fault_ == Fault::kDiscardsEvaluations) return absl::OkStatus();
    const std::string set = fault_ == Fault::kConfusesSets ? "" : result.set + "/";
    for (const auto& [name, value] : result.metrics) {
      values_.push_back({result.progress.step, absl::StrCat("eval/", set, name), value});
    }
    return absl::OkStatus();
  }
  absl::Status flush() override {
    if (fault_ == Fault::kFlushesOnlyRuns && !started_) {
      return absl::FailedPreconditionError("not started");
    }
    if (fault_ == Fault::kFlushesNothing) return absl::OkStatus();
    std::string text;
    for (const SinkValue& value : values_) {
      absl::StrAppend(&text, value.step, "\t", absl::CHexEscape(value.name), "\t", value.value,
                      "\n");
    }
    return write_file_atomically(*input_.files, path_of(input_), text);
  }

 private:
  // Returns true if the beginning run removes the value.
  bool is_replaced(const SinkValue& value, const SinkStart& start) const {
    const std::vector<std::string> parts = absl::StrSplit(value.name, '/');
    const bool is_evaluation = parts.at(0) == "eval";
    if (fault_ == (is_evaluation ? Fault::kKeepsAllEvaluations : Fault::kKeepsAllSteps)) {
      return false;
    }
    if (value.step == start.first_step && fault_ == Fault::kKeepsFirstStep) return false;
    if (value.step == start.first_step && fault_ == Fault::kDropsFirstStep) {
      return start.written.has_value();
    }
    return start.comes_again(value.step, is_evaluation ? parts.at(1) : SinkStart::kTrain);
  }

  const Fault fault_;
  const SinkInput input_;
  bool started_ = false;
  std::vector<SinkValue> values_;
};

SinkConformance of(FaultySink::Fault fault) {
  return {
      .make = [=](const SinkInput& input) { return std::make_unique<FaultySink>(fault, input); },
      .read = [](const SinkInput& input) { return read_values(input, "train/"); },
      .read_evaluations = [](const SinkInput& input) { return read_values(input, "eval/"); }};
}

[[maybe_unused]] const bool kFile =
    register_sink_conformance("FileSink", of(FaultySink::Fault::kNone));

std::vector<std::string> failing(FaultySink::Fault fault) {
  return failing_properties(sink_properties(of(fault)));
}

TEST(SinkConformanceTest, EachFaultFailsItsProperty) {
  using Fault = FaultySink::Fault;
  EXPECT_THAT(failing(Fault::kNone), IsEmpty());
  EXPECT_THAT(failing(Fault::kNeedsMetrics), ElementsAre("TakesEmptyReports"));
  EXPECT_THAT(failing(Fault::kNeedsFiniteValues), ElementsAre("TakesFullReports"));
  EXPECT_THAT(failing(Fault::kFailsAtLongNames), ElementsAre("TakesFullReports"));
  EXPECT_THAT(failing(Fault::kFlushesOnlyRuns), ElementsAre("TakesCallsInAnyOrder"));
  EXPECT_THAT(failing(Fault::kStartsOnce), ElementsAre("TakesSeveralRuns"));
  const std::vector<std::string> reports = {
      "HoldsWhatWasFlushed", "ReplacesStepsOfAnInterruptedRun", "ReplacesAReportAfterItsCheckpoint",
      "KeepsAReportBeforeItsCheckpoint"};
  const std::vector<std::string> evaluations = {
      "HoldsEvaluations", "ReplacesEvaluationsOfAnInterruptedRun",
      "ReplacesEvaluationsAfterTheirCheckpoint", "ReplacesEvaluationsOfANewRun"};
  std::vector<std::string> all = reports;
  all.insert(all.end(), evaluations.begin(), evaluations.end());
  EXPECT_EQ(failing(Fault::kFlushesNothing), all);
  EXPECT_THAT(failing(Fault::kKeepsAllSteps),
              ElementsAre("ReplacesStepsOfAnInterruptedRun", "ReplacesAReportAfterItsCheckpoint",
                          "KeepsAReportBeforeItsCheckpoint"));
  EXPECT_EQ(failing(Fault::kDiscardsEvaluations), evaluations);
  EXPECT_THAT(
      failing(Fault::kKeepsAllEvaluations),
      ElementsAre("ReplacesEvaluationsOfAnInterruptedRun",
                  "ReplacesEvaluationsAfterTheirCheckpoint", "ReplacesEvaluationsOfANewRun"));
  EXPECT_THAT(
      failing(Fault::kKeepsFirstStep),
      ElementsAre("ReplacesAReportAfterItsCheckpoint", "ReplacesEvaluationsAfterTheirCheckpoint",
                  "ReplacesEvaluationsOfANewRun"));
  EXPECT_THAT(
      failing(Fault::kDropsFirstStep),
      ElementsAre("KeepsAReportBeforeItsCheckpoint", "ReplacesEvaluationsAfterTheirCheckpoint"));
  EXPECT_EQ(failing(Fault::kConfusesSets), evaluations);
}

TEST(SinkConformanceTest, ASinkOfMetricsAloneLacksFigures) {
  SinkConformance conformance = of(FaultySink::Fault::kNone);
  conformance.holds_figures = true;
  EXPECT_THAT(failing_properties(sink_properties(conformance)),
              ElementsAre("HoldsEveryFigureOfAReport", "HoldsEveryFigureOfAnEvaluation"));
}

// Shows metrics under their names, replacing earlier values. Has the given fault.
class ShowingSink : public Sink {
 public:
  enum class Fault { kNone, kKeepsReports, kKeepsEvaluations, kShowsOneSet };
  explicit ShowingSink(Fault fault) : fault_(fault) {}

  absl::Status write_report(const Report& report) override {
    if (fault_ != Fault::kKeepsReports) report_.clear();
    for (const auto& [name, value] : report.metrics) report_[name] = value;
    return absl::OkStatus();
  }
  absl::Status write_evaluation(const EvaluationResult& result) override {
    if (fault_ == Fault::kShowsOneSet) evaluations_.clear();
    std::map<std::string, double>& shown = evaluations_[result.set];
    if (fault_ != Fault::kKeepsEvaluations) shown.clear();
    for (const auto& [name, value] : result.metrics) shown[name] = value;
    return absl::OkStatus();
  }
  std::vector<double> shown() const {
    std::vector<double> numbers;
    for (const auto& [name, value] : report_) numbers.push_back(value);
    for (const auto& [set, values] : evaluations_) {
      for (const auto& [name, value] : values) numbers.push_back(value);
    }
    return numbers;
  }

 private:
  const Fault fault_;
  std::map<std::string, double> report_;
  std::map<std::string, std::map<std::string, double>> evaluations_;
};

std::vector<std::string> failing(ShowingSink::Fault fault) {
  return failing_properties(sink_properties(
      {.make = [=](const SinkInput&) { return std::make_unique<ShowingSink>(fault); },
       .shown = [](const Sink& sink) { return static_cast<const ShowingSink&>(sink).shown(); }}));
}

TEST(SinkConformanceTest, EachFaultOfASinkThatShowsTheLastNumbersFailsItsProperty) {
  using Fault = ShowingSink::Fault;
  EXPECT_THAT(failing(Fault::kNone), IsEmpty());
  EXPECT_THAT(failing(Fault::kKeepsReports), ElementsAre("ShowsTheLastReport"));
  EXPECT_THAT(failing(Fault::kKeepsEvaluations), ElementsAre("ShowsTheLastEvaluationOfEachSet"));
  EXPECT_THAT(failing(Fault::kShowsOneSet), ElementsAre("ShowsTheLastEvaluationOfEachSet"));
}

}  // namespace
}  // namespace millrace
