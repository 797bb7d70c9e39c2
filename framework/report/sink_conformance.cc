#include "framework/report/sink_conformance.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <map>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/memory_file_system_testing.h"
#include "base/status_matchers.h"
#include "framework/report/numbered_reports_testing.h"

namespace millrace {
namespace {

// Output directory of the sinks of one test.
class Place {
 public:
  Place() { EXPECT_OK(files_.create_directories("out")); }
  SinkInput input() { return {.files = &files_, .output_dir = "out"}; }

 private:
  MemoryFileSystem files_;
};

// Returns values that are difficult to write, under difficult names.
std::map<std::string, double> hard_values() {
  using Limits = std::numeric_limits<double>;
  return {{"loss", 0.25},
          {"", -0.0},
          {"infinite", Limits::infinity()},
          {"negative infinite", -Limits::infinity()},
          {"not-a-number", Limits::quiet_NaN()},
          {"largest", Limits::max()},
          {"smallest", Limits::denorm_min()},
          {"label/auc", 1.0 / 3},
          {"quotes \" ' and \\, a\ttab, a\nline", 1e300},
          {"größe 尺寸 🙂", -1},
          {"../../name", 2},
          {"{\"a\": [1]}, %s %n", 3},
          {std::string("a\0b", 3), 4},
          {std::string("\xff\xfe, no UTF-8"), 5},
          {std::string(100'000, 'x'), 6}};
}

Report report_at(int64_t step, double loss) {
  Report report;
  report.progress.step = step;
  report.progress.examples = step > 1000000 ? step : step * 100;
  report.steps = 10;
  report.examples = 1000;
  report.metrics["loss"] = loss;
  return report;
}

EvaluationResult evaluation_at(int64_t step, const std::string& set) {
  EvaluationResult result;
  result.set = set;
  result.progress.step = step;
  result.examples = 1000;
  result.batches = 10;
  result.metrics["auc"] = 0.75;
  return result;
}

Report full_report(int64_t step) {
  Report report = report_at(step, 0.5);
  report.examples_per_second = std::numeric_limits<double>::infinity();
  report.data_wait_share = 1;
  report.progress.elapsed = absl::InfiniteDuration();
  report.metrics = hard_values();
  report.values = hard_values();
  report.learning_rates = hard_values();
  for (const auto& [name, value] : hard_values()) {
    TableReport& table = report.tables[name];
    table.rows = std::numeric_limits<int64_t>::max();
    table.load = 0.5;
    table.evicted[name] = 7;
  }
  report.ranks = RankReport{.other_ranks_share = 0.5, .ids_bytes = 1e12};
  report.process = {.cores = std::numeric_limits<double>::quiet_NaN(), .bytes_read = 1};
  for (const auto& [name, value] : hard_values()) {
    report.distributions[name] = {
        .count = 3, .min = -1, .max = 1, .sum = value, .limits = {0, 1}, .counts = {1, 2}};
  }
  report.distributions["empty"].not_finite = 7;
  return report;
}

EvaluationResult full_evaluation(int64_t step, const std::string& set) {
  EvaluationResult result = evaluation_at(step, set);
  result.elapsed = absl::InfiniteDuration();
  result.metrics = hard_values();
  result.values = hard_values();
  for (const auto& [name, value] : hard_values()) {
    result.thresholds[name].add(0, 0, 0, 2, 3);
    result.thresholds[name].add(1, 2, 3, 2, 3);
  }
  result.thresholds["empty"] = {};
  return result;
}

void check_empty(const SinkConformance& c) {
  Place place;
  const auto sink = c.make(place.input());
  EXPECT_OK(sink->start({}));
  EXPECT_OK(sink->write_report(Report()));
  EXPECT_OK(sink->write_evaluation(EvaluationResult()));
  EXPECT_OK(sink->flush());
}

void check_full(const SinkConformance& c) {
  Place place;
  const auto sink = c.make(place.input());
  EXPECT_OK(sink->start({}));
  EXPECT_OK(sink->write_report(full_report(10)));
  // The names in the next report differ.
  EXPECT_OK(sink->write_report(report_at(20, 0.5)));
  for (const auto& [name, value] : hard_values()) {
    EXPECT_OK(sink->write_evaluation(full_evaluation(20, name)));
  }
  EXPECT_OK(sink->flush());
  EXPECT_OK(sink->write_report(full_report(std::numeric_limits<int64_t>::max())));
  EXPECT_OK(sink->flush());
}

void check_order(const SinkConformance& c) {
  Place place;
  EXPECT_OK(c.make(place.input())->flush()) << "before start()";
  const auto sink = c.make(place.input());
  EXPECT_OK(sink->start({}));
  EXPECT_OK(sink->flush()) << "without any report";
  EXPECT_OK(sink->write_evaluation(evaluation_at(0, "before")));
  for (int64_t step = 10; step <= 50; step += 10) {
    EXPECT_OK(sink->write_report(report_at(step, 0.5)));
    EXPECT_OK(sink->write_evaluation(evaluation_at(step, "a")));
    EXPECT_OK(sink->write_evaluation(evaluation_at(step, "b")));
    EXPECT_OK(sink->write_evaluation(evaluation_at(step, "a"))) << "a set a second time";
    for (int64_t flush = 0; flush < step / 10; ++flush) EXPECT_OK(sink->flush());
  }
}

void check_runs(const SinkConformance& c) {
  Place place;
  for (int instance = 0; instance < 2; ++instance) {
    const auto sink = c.make(place.input());
    for (const int64_t first_step : {0, 30, 20, 0}) {
      EXPECT_OK(sink->start({.first_step = first_step})) << "first step " << first_step;
      EXPECT_OK(sink->write_report(report_at(first_step + 10, 0.5)));
      EXPECT_OK(sink->write_evaluation(evaluation_at(first_step + 10, "a")));
      EXPECT_OK(sink->flush());
    }
  }
}

// Writes reports of some steps and flushes. The loss of each report is its step plus `part`.
void write_run(const SinkConformance& c, const SinkInput& input, const SinkStart& start,
               const std::vector<int64_t>& steps, double part) {
  const auto sink = c.make(input);
  EXPECT_OK(sink->start(start));
  for (const int64_t step : steps) {
    EXPECT_OK(sink->write_report(report_at(step, static_cast<double>(step) + part)));
  }
  EXPECT_OK(sink->flush());
}

// An evaluation of a set after a step.
struct SetAtStep {
  int64_t step;
  const char* set;
};

// Writes evaluations and flushes. The metric of set "a" is the step plus `part`; set "b" has its
// negative.
void write_evaluations(const SinkConformance& c, const SinkInput& input, const SinkStart& start,
                       const std::vector<SetAtStep>& evaluations, double part) {
  const auto sink = c.make(input);
  EXPECT_OK(sink->start(start));
  for (const auto& [step, set] : evaluations) {
    const double number = static_cast<double>(step) + part;
    EvaluationResult result = evaluation_at(step, set);
    result.metrics["auc"] = result.set == "a" ? number : -number;
    EXPECT_OK(sink->write_evaluation(result));
  }
  EXPECT_OK(sink->flush());
}

// Returns evaluations of both sets after each step.
std::vector<SetAtStep> both_sets(const std::vector<int64_t>& steps) {
  std::vector<SetAtStep> evaluations;
  for (const int64_t step : steps) {
    for (const char* set : {"a", "b"}) evaluations.push_back({step, set});
  }
  return evaluations;
}

// Returns the numbers written by write_run() or write_evaluations() with this `part`.
std::vector<double> numbers_of(const std::vector<SinkValue>& values, double part) {
  std::vector<double> numbers;
  for (const SinkValue& value : values) {
    if (std::abs(value.value) == static_cast<double>(value.step) + part) {
      numbers.push_back(value.value);
    }
  }
  return numbers;
}

// Expects that the values of a step have different names.
void expect_distinct(const std::vector<SinkValue>& values) {
  std::set<std::pair<int64_t, std::string>> names;
  for (const SinkValue& value : values) {
    EXPECT_TRUE(names.emplace(value.step, value.name).second)
        << value.name << " of step " << value.step << " is there twice";
  }
}

void check_flushed(const SinkConformance& c) {
  Place place;
  write_run(c, place.input(), {}, {10, 20, 30}, 0.25);
  EXPECT_THAT(numbers_of(c.read(place.input()), 0.25),
              testing::UnorderedElementsAre(10.25, 20.25, 30.25));
}

void check_flushed_evaluations(const SinkConformance& c) {
  Place place;
  write_evaluations(c, place.input(), {}, both_sets({10, 20}), 0.25);
  const std::vector<SinkValue> values = c.read_evaluations(place.input());
  EXPECT_THAT(numbers_of(values, 0.25),
              testing::UnorderedElementsAre(10.25, -10.25, 20.25, -20.25));
  expect_distinct(values);
}

// The second run begins at the last checkpoint of the first run.
void check_interrupted(const SinkConformance& c) {
  Place place;
  write_run(c, place.input(), {}, {10, 20, 30, 40}, 0.25);
  write_run(c, place.input(), {.first_step = 20}, {30, 50}, 0.5);
  const std::vector<SinkValue> values = c.read(place.input());
  EXPECT_THAT(numbers_of(values, 0.25), testing::UnorderedElementsAre(10.25, 20.25));
  EXPECT_THAT(numbers_of(values, 0.5), testing::UnorderedElementsAre(30.5, 50.5));
  expect_distinct(values);
}

void check_interrupted_evaluations(const SinkConformance& c) {
  Place place;
  write_evaluations(c, place.input(), {}, both_sets({10, 30, 40}), 0.25);
  write_evaluations(c, place.input(), {.first_step = 20}, both_sets({30, 50}), 0.5);
  const std::vector<SinkValue> values = c.read_evaluations(place.input());
  EXPECT_THAT(numbers_of(values, 0.25), testing::UnorderedElementsAre(10.25, -10.25));
  EXPECT_THAT(numbers_of(values, 0.5), testing::UnorderedElementsAre(30.5, -30.5, 50.5, -50.5));
  expect_distinct(values);
}

// The checkpoint of step 20 precedes the report of this step.
void check_report_after_checkpoint(const SinkConformance& c) {
  Place place;
  write_run(c, place.input(), {}, {10, 20}, 0.25);
  write_run(c, place.input(), {.first_step = 20, .written = {{"a"}}}, {20, 30}, 0.5);
  const std::vector<SinkValue> values = c.read(place.input());
  EXPECT_THAT(numbers_of(values, 0.25), testing::UnorderedElementsAre(10.25));
  EXPECT_THAT(numbers_of(values, 0.5), testing::UnorderedElementsAre(20.5, 30.5));
  expect_distinct(values);
}

// A report that the checkpoint of its step includes is kept.
void check_report_before_checkpoint(const SinkConformance& c) {
  Place place;
  write_run(c, place.input(), {}, {10, 20, 30}, 0.25);
  write_run(c, place.input(), {.first_step = 20, .written = {{"a", SinkStart::kTrain}}}, {30}, 0.5);
  const std::vector<SinkValue> values = c.read(place.input());
  EXPECT_THAT(numbers_of(values, 0.25), testing::UnorderedElementsAre(10.25, 20.25));
  EXPECT_THAT(numbers_of(values, 0.5), testing::UnorderedElementsAre(30.5));
  expect_distinct(values);
}

// A run was interrupted before its first checkpoint. A new run evaluates before its first step.
void check_evaluation_of_a_new_run(const SinkConformance& c) {
  Place place;
  const SinkStart start = {.first_step = 0, .written = std::set<std::string>()};
  write_evaluations(c, place.input(), start, both_sets({0, 10}), 0.25);
  write_evaluations(c, place.input(), start, both_sets({0}), 0.5);
  const std::vector<SinkValue> values = c.read_evaluations(place.input());
  EXPECT_THAT(numbers_of(values, 0.25), testing::IsEmpty());
  EXPECT_THAT(numbers_of(values, 0.5).size(), testing::Eq(2));
  expect_distinct(values);
}

// The checkpoint of step 20 follows the evaluation of one set and precedes the evaluation of the
// other.
void check_evaluation_after_checkpoint(const SinkConformance& c) {
  const SinkStart start = {.first_step = 20, .written = {{"a", SinkStart::kTrain}}};
  Place once, twice;
  for (Place* place : {&once, &twice}) {
    write_evaluations(c, place->input(), {}, both_sets({10, 20}), 0.25);
    write_evaluations(c, place->input(), start, {{20, "b"}, {30, "a"}}, 0.5);
  }
  std::vector<SinkValue> values = c.read_evaluations(once.input());
  EXPECT_THAT(numbers_of(values, 0.25), testing::UnorderedElementsAre(10.25, -10.25, 20.25));
  EXPECT_THAT(numbers_of(values, 0.5), testing::UnorderedElementsAre(-20.5, 30.5));
  expect_distinct(values);
  // A further run resumes from the same checkpoint.
  write_evaluations(c, twice.input(), start, {{20, "b"}}, 0.75);
  values = c.read_evaluations(twice.input());
  EXPECT_THAT(numbers_of(values, 0.25), testing::UnorderedElementsAre(10.25, -10.25, 20.25));
  EXPECT_THAT(numbers_of(values, 0.5), testing::IsEmpty());
  EXPECT_THAT(numbers_of(values, 0.75), testing::UnorderedElementsAre(-20.75));
  expect_distinct(values);
}

Report report_with(int64_t step, const std::string& metric, double value) {
  Report report = report_at(step, 0.5);
  report.metrics[metric] = value;
  return report;
}

EvaluationResult evaluation_with(int64_t step, const std::string& set, const std::string& metric,
                                 double value) {
  EvaluationResult result = evaluation_at(step, set);
  result.metrics[metric] = value;
  return result;
}

void check_last_report(const SinkConformance& c) {
  Place place;
  const auto sink = c.make(place.input());
  EXPECT_OK(sink->start({}));
  EXPECT_OK(sink->write_report(report_with(10, "early", 1001)));
  EXPECT_OK(sink->write_evaluation(evaluation_with(10, "a", "other", 1002)));
  EXPECT_THAT(c.shown(*sink), testing::IsSupersetOf({1001.0, 1002.0}));
  EXPECT_OK(sink->write_report(report_with(20, "late", 1003)));
  const std::vector<double> numbers = c.shown(*sink);
  EXPECT_THAT(numbers, testing::IsSupersetOf({1002.0, 1003.0}));
  EXPECT_THAT(numbers, testing::Not(testing::Contains(1001.0))) << "of the report before";
}

void check_last_evaluations(const SinkConformance& c) {
  Place place;
  const auto sink = c.make(place.input());
  EXPECT_OK(sink->start({}));
  EXPECT_OK(sink->write_report(report_with(10, "other", 1001)));
  EXPECT_OK(sink->write_evaluation(evaluation_with(10, "a", "early", 1002)));
  EXPECT_OK(sink->write_evaluation(evaluation_with(10, "b", "early", 1003)));
  EXPECT_OK(sink->write_evaluation(evaluation_with(20, "a", "late", 1004)));
  const std::vector<double> numbers = c.shown(*sink);
  EXPECT_THAT(numbers, testing::IsSupersetOf({1001.0, 1003.0, 1004.0}));
  EXPECT_THAT(numbers, testing::Not(testing::Contains(1002.0))) << "of the evaluation before";
}

// Calls `write` on a new sink, and expects that the sink holds the numbers. `read`: null if the
// sink shows the numbers instead.
void expect_held(const SinkConformance& c, const decltype(SinkConformance::read)& read,
                 const std::function<absl::Status(Sink& sink)>& write,
                 const std::vector<double>& numbers) {
  Place place;
  std::vector<double> held;
  {
    const auto sink = c.make(place.input());
    EXPECT_OK(sink->start({}));
    EXPECT_OK(write(*sink));
    EXPECT_OK(sink->flush());
    if (c.shown != nullptr) held = c.shown(*sink);
  }
  if (read != nullptr) {
    for (const SinkValue& value : read(place.input())) held.push_back(value.value);
  }
  EXPECT_THAT(held, testing::IsSupersetOf(numbers));
}

void check_figures(const SinkConformance& c) {
  const NumberedReport numbered = numbered_report();
  expect_held(
      c, c.read, [&](Sink& sink) { return sink.write_report(numbered.report); }, numbered.numbers);
}

void check_evaluation_figures(const SinkConformance& c) {
  const NumberedEvaluation numbered = numbered_evaluation();
  expect_held(
      c, c.read_evaluations, [&](Sink& sink) { return sink.write_evaluation(numbered.result); },
      numbered.numbers);
}

}  // namespace

std::vector<Property> sink_properties(const SinkConformance& conformance) {
  const auto property = properties_of(conformance);
  std::vector<Property> properties = {
      property("TakesEmptyReports", check_empty),
      property("TakesFullReports", check_full),
      property("TakesCallsInAnyOrder", check_order),
      property("TakesSeveralRuns", check_runs),
  };
  if (conformance.read != nullptr) {
    properties.push_back(property("HoldsWhatWasFlushed", check_flushed));
    properties.push_back(property("ReplacesStepsOfAnInterruptedRun", check_interrupted));
    properties.push_back(
        property("ReplacesAReportAfterItsCheckpoint", check_report_after_checkpoint));
    properties.push_back(
        property("KeepsAReportBeforeItsCheckpoint", check_report_before_checkpoint));
  }
  if (conformance.read_evaluations != nullptr) {
    properties.push_back(property("HoldsEvaluations", check_flushed_evaluations));
    properties.push_back(
        property("ReplacesEvaluationsOfAnInterruptedRun", check_interrupted_evaluations));
    properties.push_back(
        property("ReplacesEvaluationsAfterTheirCheckpoint", check_evaluation_after_checkpoint));
    properties.push_back(property("ReplacesEvaluationsOfANewRun", check_evaluation_of_a_new_run));
  }
  if (conformance.shown != nullptr) {
    properties.push_back(property("ShowsTheLastReport", check_last_report));
    properties.push_back(property("ShowsTheLastEvaluationOfEachSet", check_last_evaluations));
  }
  if (conformance.holds_figures) {
    properties.push_back(property("HoldsEveryFigureOfAReport", check_figures));
    properties.push_back(property("HoldsEveryFigureOfAnEvaluation", check_evaluation_figures));
  }
  return properties;
}

bool register_sink_conformance(const std::string& suite, const SinkConformance& conformance,
                               std::source_location place) {
  return register_properties(suite, sink_properties(conformance), place);
}

}  // namespace millrace
