#include "framework/reporter.h"

#include <ATen/ATen.h>

#include <map>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "embedding/embedding_collection.h"
#include "framework/rank_part.h"
#include "optim/dense_optimizer.h"
#include "optim/sparse_optimizer.h"

namespace millrace {
namespace {

// What ranks tell one another of their times since the last report.
constexpr char kSeconds[] = "seconds";
constexpr char kDataWaitSeconds[] = "data_wait_seconds";

// What happened between two moments.
TableReport table_report(const TableStatistics& now, const TableStatistics& last) {
  TableReport report;
  report.rows = now.rows;
  report.bytes = now.bytes;
  report.load = now.load;
  report.candidates = now.candidates;
  report.inserted = now.inserted - last.inserted;
  report.unadmitted = now.unadmitted - last.unadmitted;
  for (int i = 0; i < kEvictionReasons; ++i) {
    const int64_t rows = now.evicted[i] - last.evicted[i];
    const std::string reason(eviction_reason_name(static_cast<EvictionReason>(i)));
    if (rows > 0) report.evicted[reason] = rows;
  }
  const auto occurrences = static_cast<double>(now.occurrences - last.occurrences);
  if (occurrences > 0) {
    report.unique_share = static_cast<double>(now.unique_ids - last.unique_ids) / occurrences;
    report.hottest_share = static_cast<double>(now.hottest - last.hottest) / occurrences;
  }
  return report;
}

}  // namespace

Reporter::Reporter(MetricSet metrics, absl::Span<const std::unique_ptr<DenseOptimizer>> dense,
                   const SparseOptimizer* sparse, std::vector<EmbeddingCollection*> collections,
                   Clock& clock)
    : metrics_(std::move(metrics)),
      dense_(dense),
      sparse_(sparse),
      collections_(std::move(collections)),
      clock_(clock) {}

void Reporter::resume_clock() {
  if (!resumed_.has_value()) resumed_ = clock_.elapsed();
}

void Reporter::pause_clock() {
  trained_ = trained();
  resumed_.reset();
}

absl::Duration Reporter::trained() const {
  return resumed_.has_value() ? trained_ + (clock_.elapsed() - *resumed_) : trained_;
}

absl::Status Reporter::add(const StepResult& step) {
  ++steps_;
  examples_ += step.examples;
  data_wait_ += step.timings.data_wait;
  return pending_.add(step, metrics_, values_);
}

absl::StatusOr<Report> Reporter::take(const Progress& progress, Collectives& collectives) {
  RETURN_IF_ERROR(fold());
  ReportedValues times;
  times.add(kSeconds, absl::ToDoubleSeconds(trained()), Reduction::kLast);
  times.add(kDataWaitSeconds, absl::ToDoubleSeconds(data_wait_), Reduction::kMean);
  RETURN_IF_ERROR(merge_ranks(collectives, {&metrics_, &values_, &times}));
  std::map<std::string, double> merged_times;
  times.drain(&merged_times);

  Report report;
  report.progress = progress;
  report.steps = std::exchange(steps_, 0);
  report.examples = std::exchange(examples_, 0);
  const double seconds = merged_times[kSeconds];
  if (seconds > 0) {
    report.examples_per_second = static_cast<double>(report.examples) / seconds;
    report.data_wait_share = merged_times[kDataWaitSeconds] / seconds;
  }
  trained_ = data_wait_ = absl::ZeroDuration();
  if (resumed_.has_value()) resumed_ = clock_.elapsed();
  report.metrics = metrics_.compute();
  metrics_.reset();
  values_.drain(&report.values);
  for (size_t i = 0; i < dense_.size(); ++i) {
    report.learning_rates[i == 0 ? "dense" : absl::StrCat("dense", i)] =
        dense_[i]->learning_rate(progress);
  }
  if (sparse_ != nullptr) report.learning_rates["sparse"] = sparse_->learning_rate(progress);
  for (const EmbeddingCollection* collection : collections_) {
    for (const auto& table : collection->tables()) {
      const TableStatistics now = table->statistics();
      TableStatistics& last = tables_[table->name()];
      report.tables[table->name()] = table_report(now, last);
      last = now;
    }
  }
  return report;
}

}  // namespace millrace
