// Collects the figures of a report.
#ifndef MILLRACE_FRAMEWORK_REPORT_REPORTER_H_
#define MILLRACE_FRAMEWORK_REPORT_REPORTER_H_

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "embedding/table/table_statistics.h"
#include "framework/ranks/rank_figures.h"
#include "framework/report/metric_set.h"
#include "framework/report/pending_steps.h"
#include "framework/report/reported_values.h"
#include "framework/report/resource_use.h"
#include "framework/report/span_metrics.h"
#include "framework/report/table_figures.h"
#include "hook/events.h"
#include "hook/reported_value.h"
#include "proto/checkpoint_state.pb.h"

namespace millrace {

class Collectives;
class DenseOptimizer;
class EmbeddingCollection;
class SparseOptimizer;

// Collects the figures of training steps; created by the trainer. Used on its thread.
class Reporter {
 public:
  // REQUIRES: `metrics` were created with LossScope::kWholeStep, `spans` with the same metrics.
  // Borrows all other arguments; `sparse` may be null. Rates are over the time of `clock`.
  Reporter(MetricSet metrics, SpanMetrics spans,
           absl::Span<const std::unique_ptr<DenseOptimizer>> dense, const SparseOptimizer* sparse,
           std::vector<EmbeddingCollection*> collections, const TrainingClock& clock);

  // Returns the values that hooks report until the next report.
  ReportedValues& values() { return values_; }

  // Returns the histograms of the next report, by name.
  std::map<std::string, Distribution>& distributions() { return distributions_; }

  // Adds an applied step at `position`; its tensors are read later. Errors: as PendingSteps::add().
  absl::Status add(const StepResult& step, SpanPosition position);

  // Reads the tensors of all steps added. Called before a report, while this rank may still fail
  // alone. Errors: as PendingSteps::fold().
  absl::Status fold() { return pending_.fold(metrics_, values_); }

  // Saves the figures since the last report. Reads the tensors of all steps added. Errors: as
  // fold().
  absl::Status save_state(ReportState& state);
  // Replaces the figures since the last report: counts and times are from `own`, sums are over all
  // `parts`. REQUIRES: the clock is stopped. Errors: DataLoss for damaged parts, InvalidArgument
  // for other metrics; the figures are then empty, and the caller must call start_tables().
  absl::Status load_state(const ReportState& own, absl::Span<const ReportState* const> parts);
  // Begins the table figures of the next report at the current counts of the tables.
  void start_tables();

  // Returns the number of steps since the last report.
  int64_t steps() const { return steps_; }

  // Returns the report since the last one, at `progress`, and begins the next. Collective: metrics,
  // reported values and the share of data waits cover all ranks, the time is rank 0's, and all
  // ranks get the same report. Errors: as merge_ranks(). `figures`: of this rank, since the last
  // report or the start of the run. With one rank the report omits them.
  absl::StatusOr<Report> take(const Progress& progress, Collectives& collectives,
                              const RankFigures& figures = {});

 private:
  // Adds the most frequent id of the step that was just applied.
  void add_hottest();
  absl::Status load_hottest(absl::Span<const ReportState* const> parts);
  absl::Status load_figures(absl::Span<const ReportState* const> parts);
  // Returns the training time since the last report.
  absl::Duration trained() const { return clock_.trained() - last_report_; }

  MetricSet metrics_;
  SpanMetrics spans_;
  SpanPosition position_;  // of the last step
  absl::Span<const std::unique_ptr<DenseOptimizer>> dense_;
  const SparseOptimizer* sparse_;
  std::vector<EmbeddingCollection*> collections_;
  const TrainingClock& clock_;
  struct HottestSteps {
    HottestCounts counts;  // of the steps since the last report
    int64_t total = 0;     // TableStatistics::hottest after the last of them
  };
  std::map<std::string, TableStatistics> tables_;  // at the last report
  std::map<std::string, HottestSteps> hottest_;    // of tables over ranks
  ReportedValues values_;
  std::map<std::string, Distribution> distributions_;
  ProcessFigures process_;  // at the last report, or when this object was made
  PendingSteps pending_;
  int64_t steps_ = 0;
  int64_t examples_ = 0;
  absl::Duration data_wait_ = absl::ZeroDuration();
  absl::Duration figures_since_;  // the clock's trained() when RankFigures began
  absl::Duration last_report_;  // the clock's trained() then; of a restored report before its first
};

}  // namespace millrace

#endif  // MILLRACE_FRAMEWORK_REPORT_REPORTER_H_
