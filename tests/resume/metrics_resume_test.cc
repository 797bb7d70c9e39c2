// Compares each metric with the definition over ranks and micro-batches, and to the last bit after
// resumes and for any order of arriving ranks.
#include <cmath>
#include <functional>
#include <limits>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "base/mutex.h"
#include "base/random/philox.h"
#include "base/status_matchers.h"
#include "metrics/metric_registry.h"
#include "tests/resume/metric_job.h"
#include "tests/resume/plain_metrics.h"

namespace millrace {
namespace {

constexpr double kTolerance = 1e-9;
constexpr double kLossTolerance = 1e-6;  // losses of steps are float32

// A value, and the tolerance of a report.
struct Expected {
  double value = 0;
  double tolerance = kTolerance;
};
using ExpectedValues = std::map<std::string, Expected>;

// Returns the examples of steps [first, last) of the job.
std::vector<MetricExample> examples_of(int64_t first, int64_t last) {
  std::vector<MetricExample> examples;
  for (int64_t step = first; step < last; ++step) {
    for (int64_t i = 0; i < kMetricStepExamples; ++i) {
      const int64_t place = step % kMetricSteps * kMetricStepExamples + i;
      examples.push_back(metric_example(step / kMetricSteps, place));
    }
  }
  return examples;
}

std::vector<PlainExample> with_label(const std::vector<MetricExample>& examples, size_t task) {
  std::vector<PlainExample> plain;
  for (const MetricExample& example : examples) {
    if (std::isnan(example.labels[task])) continue;
    plain.push_back(
        {example.predictions[task], example.labels[task], example.weight, example.group});
  }
  return plain;
}

// Adds the metrics of both tasks.
void add_metrics(const std::vector<std::string>& metrics, const std::string& prefix,
                 const std::vector<MetricExample>& examples, ExpectedValues& values) {
  for (size_t task = 0; task < 2; ++task) {
    const std::vector<PlainExample> plain = with_label(examples, task);
    for (const std::string& metric : metrics) {
      const std::optional<double> value = plain_metric(metric, plain);
      ASSERT_TRUE(value.has_value()) << metric << ": add it to plain_metrics.cc";
      double tolerance = kTolerance;
      if (metric == "auc_buckets") tolerance += plain_buckets_bound(kAucBuckets, plain);
      values[absl::StrCat(prefix, kMetricTasks[task], "/", metric)] = {*value, tolerance};
    }
  }
}

void add_losses(const std::string& prefix, const std::vector<MetricExample>& examples,
                ExpectedValues& values) {
  double total = 0;
  for (size_t task = 0; task < 2; ++task) {
    std::vector<PlainExample> plain = with_label(examples, task);
    for (PlainExample& example : plain) example.weight = 1;  // the model knows no weights
    const double loss = *plain_metric("mse", plain);
    values[absl::StrCat(prefix, kMetricTasks[task], "/loss")] = {loss, kLossTolerance};
    total += loss;
  }
  values[absl::StrCat(prefix, "loss")] = {total, kLossTolerance};
}

// The slices are the smallest ids of all examples up to `last`.
void add_slices(int64_t first, int64_t last, ExpectedValues& values) {
  std::set<int64_t> ids;
  for (const MetricExample& example : examples_of(0, last)) {
    if (example.slice.has_value()) ids.insert(*example.slice);
  }
  while (ids.size() > static_cast<size_t>(kMostSlices)) ids.erase(std::prev(ids.end()));
  std::map<std::string, std::vector<MetricExample>> slices;
  for (const MetricExample& example : examples_of(first, last)) {
    const std::string slice = !example.slice.has_value()     ? "none"
                              : ids.contains(*example.slice) ? absl::StrCat(*example.slice)
                                                             : "other";
    slices[absl::StrCat("country=", slice, "/")].push_back(example);
  }
  for (const auto& [prefix, examples] : slices) {
    values[prefix + "examples"] = {static_cast<double>(examples.size()), 0};
    add_metrics(slice_metrics(), prefix, examples, values);
  }
}

// Adds the metrics of a span with the examples of steps [first, last).
void add_span(const std::string& name, bool keeps_examples, int64_t first, int64_t last,
              ExpectedValues& values) {
  std::vector<std::string> metrics;
  for (const std::string& metric : all_metrics()) {
    if (keeps_examples || !traits_of_metric(metric).keeps_examples) metrics.push_back(metric);
  }
  const std::vector<MetricExample> examples = examples_of(first, last);
  add_metrics(metrics, name + "/", examples, values);
  add_losses(name + "/", examples, values);
}

// Returns the steps with a report.
std::vector<int64_t> report_steps() {
  std::vector<int64_t> steps = {0};
  for (int64_t step = 1; step <= kMetricPasses * kMetricSteps; ++step) {
    if (step % 2 == 0 || step % kMetricSteps == 0) steps.push_back(step);
  }
  return steps;
}

std::vector<ExpectedValues> compute_expected(bool windows) {
  const std::vector<int64_t> steps = report_steps();
  std::vector<ExpectedValues> reports;
  for (size_t i = 1; i < steps.size(); ++i) {
    const int64_t first = steps[i - 1], last = steps[i];
    ExpectedValues& values = reports.emplace_back();
    add_metrics(all_metrics(), "", examples_of(first, last), values);
    add_losses("", examples_of(first, last), values);
    add_slices(first, last, values);
    const int64_t pass = (last - 1) / kMetricSteps * kMetricSteps;  // its first step
    add_span(windows ? "window" : "epoch", false, pass, last, values);
    add_span("total", false, 0, last, values);
    add_span("moving", true, i < kMovingReports ? 0 : steps[i - kMovingReports], last, values);
  }
  return reports;
}

// Returns the expected values by report.
const std::vector<ExpectedValues>& expected_reports(bool windows) {
  static const auto* const kEpochs = new std::vector<ExpectedValues>(compute_expected(false));
  static const auto* const kWindows = new std::vector<ExpectedValues>(compute_expected(true));
  return windows ? *kWindows : *kEpochs;
}

void expect_report(const MetricReport& report, const ExpectedValues& expected) {
  ASSERT_EQ(report.metrics.size(), expected.size());
  for (const auto& [name, right] : expected) {
    SCOPED_TRACE(absl::StrCat(name, " of the report at step ", report.step));
    ASSERT_EQ(report.metrics.count(name), 1);
    const double value = report.metrics.at(name);
    if (std::isnan(right.value)) {
      EXPECT_TRUE(std::isnan(value)) << value;
    } else {
      EXPECT_NEAR(value, right.value, right.tolerance * std::fmax(1, std::fabs(right.value)));
    }
  }
}

// `first`: the index of the first report among the reports of the whole job.
void expect_reports(const std::vector<MetricReport>& reports, bool windows, size_t first = 0) {
  const std::vector<int64_t> steps = report_steps();
  const std::vector<ExpectedValues>& expected = expected_reports(windows);
  ASSERT_EQ(first + reports.size(), expected.size());
  for (size_t i = 0; i < reports.size(); ++i) {
    ASSERT_EQ(reports[i].step, steps[first + i + 1]);
    ASSERT_EQ(reports[i].steps, steps[first + i + 1] - steps[first + i]);
    expect_report(reports[i], expected[first + i]);
  }
}

// Returns the reports of `whole` from index `first`.
std::vector<MetricReport> rest_of(const MetricRun& whole, size_t first) {
  return {whole.reports.begin() + static_cast<ptrdiff_t>(first), whole.reports.end()};
}

class MetricsResumeTest : public testing::TestWithParam<std::tuple<int, int64_t, bool>> {
 protected:
  MetricJob job() const {
    const auto [ranks, micro_batches, windows] = GetParam();
    return {.ranks = ranks, .micro_batches = micro_batches, .windows = windows};
  }
};

TEST_P(MetricsResumeTest, EqualTheirDefinition) {
  ASSERT_OK_AND_ASSIGN(const MetricRun run, run_metric_job(job()));
  expect_reports(run.reports, job().windows);
}

TEST_P(MetricsResumeTest, AreTheSameBitsFromEveryStep) {
  ASSERT_OK_AND_ASSIGN(const MetricRun whole, run_metric_job(job()));
  ASSERT_EQ(whole.points.size(), kMetricPasses * kMetricSteps);
  for (size_t step = 1; step <= whole.points.size(); ++step) {
    SCOPED_TRACE(absl::StrCat("from step ", step));
    const MetricPoint& point = whole.points[step - 1];
    ASSERT_OK_AND_ASSIGN(const MetricRun resumed, run_metric_job(job(), &point));
    ASSERT_EQ(to_text(resumed.reports), to_text(rest_of(whole, point.reports)));
  }
}

std::string case_name(const testing::TestParamInfo<MetricsResumeTest::ParamType>& info) {
  const auto [ranks, micro_batches, windows] = info.param;
  return absl::StrCat(ranks, "Ranks", micro_batches, "MicroBatches", windows ? "InWindows" : "");
}

INSTANTIATE_TEST_SUITE_P(All, MetricsResumeTest,
                         testing::Combine(testing::Values(1, 2, 3),
                                          testing::Values<int64_t>(1, 2, 3, 4), testing::Bool()),
                         case_name);

// Another number of ranks adds sums in another order.
TEST(MetricsResumeOnOtherRanksTest, EqualTheirDefinition) {
  for (const auto& [before, after] : {std::pair(2, 3), {3, 1}, {1, 2}}) {
    ASSERT_OK_AND_ASSIGN(const MetricRun whole, run_metric_job({.ranks = before}));
    for (size_t step = 1; step <= whole.points.size(); ++step) {
      SCOPED_TRACE(absl::StrCat("from step ", step, ", ", before, " to ", after, " ranks"));
      const MetricPoint& point = whole.points[step - 1];
      ASSERT_OK_AND_ASSIGN(const MetricRun resumed, run_metric_job({.ranks = after}, &point));
      expect_reports(resumed.reports, false, point.reports);
    }
  }
}

// Makes ranks arrive at each collective in a given order.
class ArrivalOrder {
 public:
  // `order`: returns the ranks in their order at the collective with this ordinal.
  ArrivalOrder(int ranks, std::function<std::vector<int>(int64_t ordinal)> order)
      : order_(std::move(order)), arrived_(static_cast<size_t>(ranks)) {}

  // Blocks until the rank before has arrived at the collective.
  absl::Status arrive(const CollectiveCall& call) {
    const std::vector<int> order = order_(call.ordinal);
    MutexLock lock(mutex_);
    for (size_t place = 1; place < order.size(); ++place) {
      if (order[place] != call.rank) continue;
      const size_t before = static_cast<size_t>(order[place - 1]);
      const auto has_come = [&]() ABSL_NO_THREAD_SAFETY_ANALYSIS {
        return arrived_[before] > call.ordinal;
      };
      if (!mutex_.await_for(absl::Seconds(30), has_come)) {
        return absl::DeadlineExceededError(absl::StrCat("rank ", before, " does not come"));
      }
    }
    arrived_[static_cast<size_t>(call.rank)] = call.ordinal + 1;
    return absl::OkStatus();
  }

 private:
  const std::function<std::vector<int>(int64_t ordinal)> order_;
  Mutex mutex_;
  std::vector<int64_t> arrived_ ABSL_GUARDED_BY(mutex_);  // collectives, by rank
};

TEST(MetricsArrivalTest, OrderOfRanksDoesNotMatterToTheLastBit) {
  const std::vector<std::vector<int>> orders = {{0, 1, 2}, {0, 2, 1}, {1, 0, 2},
                                                {1, 2, 0}, {2, 0, 1}, {2, 1, 0}};
  MetricJob job = {.ranks = 3, .micro_batches = 2};
  ASSERT_OK_AND_ASSIGN(const MetricRun free, run_metric_job(job));
  // Uses each order throughout, then other orders at each collective.
  for (size_t i = 0; i < orders.size() + 4; ++i) {
    SCOPED_TRACE(absl::StrCat("order ", i));
    ArrivalOrder arrival(job.ranks, [&](int64_t ordinal) {
      const uint64_t random = philox64(i, 0, static_cast<uint64_t>(ordinal));
      return i < orders.size() ? orders[i] : orders[random % orders.size()];
    });
    job.inject = [&](const CollectiveCall& call) { return arrival.arrive(call); };
    ASSERT_OK_AND_ASSIGN(const MetricRun run, run_metric_job(job));
    EXPECT_EQ(to_text(run.reports), to_text(free.reports));
  }
}

}  // namespace
}  // namespace millrace
