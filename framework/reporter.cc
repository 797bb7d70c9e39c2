#include "framework/reporter.h"

#include <ATen/ATen.h>

#include <utility>

#include "absl/strings/str_cat.h"
#include "embedding/embedding_collection.h"
#include "optim/dense_optimizer.h"
#include "optim/sparse_optimizer.h"

namespace millrace {

Reporter::Reporter(MetricSet metrics, absl::Span<const std::unique_ptr<DenseOptimizer>> dense,
                   const SparseOptimizer* sparse, std::vector<EmbeddingCollection*> collections)
    : metrics_(std::move(metrics)),
      dense_(dense),
      sparse_(sparse),
      collections_(std::move(collections)) {}

absl::Status Reporter::add(const StepResult& step) {
  ++steps_;
  examples_ += step.examples;
  data_wait_ += step.timings.data_wait;
  for (const auto& [name, value] : step.values) {
    values_.add(name, value.item<double>(), Reduction::kMean);
  }
  return metrics_.update(step);
}

Report Reporter::take(const Progress& progress) {
  Report report;
  report.progress = progress;
  report.steps = std::exchange(steps_, 0);
  report.examples = std::exchange(examples_, 0);
  const absl::Duration data_wait = std::exchange(data_wait_, absl::ZeroDuration());
  const absl::Duration elapsed = progress.elapsed - std::exchange(last_elapsed_, progress.elapsed);
  if (elapsed > absl::ZeroDuration()) {
    report.examples_per_second = static_cast<double>(report.examples) / absl::ToDoubleSeconds(elapsed);
    report.data_wait_share = absl::FDivDuration(data_wait, elapsed);
  }
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
      const TableStatistics statistics = table->statistics();
      report.tables[std::string(table->name())] = {statistics.rows, statistics.bytes};
    }
  }
  return report;
}

}  // namespace millrace
