// Collects between two reports.
#ifndef MILLRACE_FRAMEWORK_REPORTER_H_
#define MILLRACE_FRAMEWORK_REPORTER_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "framework/events.h"
#include "framework/metric_set.h"
#include "framework/reported_values.h"

namespace millrace {

class DenseOptimizer;
class EmbeddingCollection;
class SparseOptimizer;

// Made by the trainer, for the steps of training alone. Used on its thread.
class Reporter {
 public:
  // Borrows all three until it goes; `sparse` may be null.
  Reporter(MetricSet metrics, absl::Span<const std::unique_ptr<DenseOptimizer>> dense,
           const SparseOptimizer* sparse, std::vector<EmbeddingCollection*> collections);

  // What hooks report.
  ReportedValues& values() { return values_; }

  // Adds an applied step. Errors: those of MetricSet::update.
  absl::Status add(const StepResult& step);

  // Steps since the last report.
  int64_t steps() const { return steps_; }

  // The report since the last one, at `progress`, and begins the next.
  Report take(const Progress& progress);

 private:
  MetricSet metrics_;
  absl::Span<const std::unique_ptr<DenseOptimizer>> dense_;
  const SparseOptimizer* sparse_;
  std::vector<EmbeddingCollection*> collections_;
  ReportedValues values_;
  int64_t steps_ = 0;
  int64_t examples_ = 0;
  absl::Duration data_wait_ = absl::ZeroDuration();
  absl::Duration last_elapsed_ = absl::ZeroDuration();
};

}  // namespace millrace

#endif  // MILLRACE_FRAMEWORK_REPORTER_H_
