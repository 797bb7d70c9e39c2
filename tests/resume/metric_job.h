// A job with known metrics: predictions are a column of the data, which no step changes.
#ifndef MILLRACE_TESTS_RESUME_METRIC_JOB_H_
#define MILLRACE_TESTS_RESUME_METRIC_JOB_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "distributed/thread_collectives.h"
#include "tests/fakes/memory_checkpoint.h"

namespace millrace {

// Three epochs, or windows, of five steps. A report follows each second step and each epoch or
// window.
inline constexpr int64_t kMetricPasses = 3;
inline constexpr int64_t kMetricSteps = 5;          // of a pass
inline constexpr int64_t kMetricStepExamples = 24;  // over all ranks and micro-batches
inline constexpr int64_t kMovingReports = 3;
inline constexpr int64_t kAucBuckets = 10;
inline constexpr int64_t kMostSlices = 3;
inline constexpr const char* kMetricTasks[] = {"click", "buy"};

// An example of the job. Predictions of the first task have many ties, and some labels of each task
// are missing (not-a-number).
struct MetricExample {
  std::array<float, 2> predictions;  // by task
  std::array<float, 2> labels;       // by task; 0, 1 or not-a-number
  float weight;                      // some are 0
  int64_t group;
  std::optional<int64_t> slice;  // an id; some examples have none
};

// Returns example `place` of a pass.
MetricExample metric_example(int64_t pass, int64_t place);

// Returns all metrics that exist, metrics with a cutoff at 3.
std::vector<std::string> all_metrics();
// Returns the metrics of slices.
std::vector<std::string> slice_metrics();

struct MetricJob {
  int ranks = 1;
  int64_t micro_batches = 1;
  bool windows = false;  // instead of epochs
  // See ThreadRanksOptions.
  std::function<absl::Status(const CollectiveCall&)> inject = nullptr;
};

struct MetricReport {
  int64_t step = 0;   // the last one of the report
  int64_t steps = 0;  // since the last report
  std::map<std::string, double> metrics;
};

// Returns all reports to the last bit.
std::string to_text(const std::vector<MetricReport>& reports);

// The state of a job after a step.
struct MetricPoint {
  size_t reports = 0;                   // made so far
  std::vector<MemoryCheckpoint> ranks;  // by rank
};

struct MetricRun {
  std::vector<MetricReport> reports;
  std::vector<MetricPoint> points;  // after each step
};

// Trains with a checkpoint after each step, from the beginning or from `point`, in new trainers.
// Errors: any error of the ranks; Internal if ranks report different bits.
absl::StatusOr<MetricRun> run_metric_job(const MetricJob& job, const MetricPoint* point = nullptr);

}  // namespace millrace

#endif  // MILLRACE_TESTS_RESUME_METRIC_JOB_H_
