#include "framework/report/reporter.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "checkpoint/state/state_messages.h"
#include "distributed/collectives.h"
#include "embedding/embedding_collection.h"
#include "framework/ranks/rank_part.h"
#include "framework/report/table_figures.h"
#include "optim/dense/dense_optimizer.h"
#include "optim/sparse_optimizer.h"

namespace millrace {
namespace {

// Names of times since the last report, for the exchange over ranks.
constexpr char kSeconds[] = "seconds";
constexpr char kDataWaitSeconds[] = "data_wait_seconds";
// Names of RankFigures.
constexpr char kFiguresSeconds[] = "figures_seconds";
constexpr char kOtherRanks[] = "other_ranks";
constexpr char kOwners[] = "owners";
constexpr char kGradients[] = "gradients";
constexpr char kTransfer[] = "transfer";
constexpr char kIdsBytes[] = "ids_bytes";
constexpr char kRowsBytes[] = "rows_bytes";
constexpr char kMostRowsBytes[] = "most_rows_bytes";
constexpr char kSumsBytes[] = "sums_bytes";

// Adds the figures of a rank. `seconds`: the training time in which they were collected; rank 0's
// counts.
void add_figures(const RankFigures& figures, double seconds, ReportedValues& values) {
  values.add(kFiguresSeconds, seconds, Reduction::kLast);
  values.add(kOtherRanks, absl::ToDoubleSeconds(figures.other_ranks), Reduction::kMean);
  values.add(kOwners, absl::ToDoubleSeconds(figures.owners), Reduction::kMean);
  values.add(kGradients, absl::ToDoubleSeconds(figures.gradients), Reduction::kMean);
  values.add(kTransfer, absl::ToDoubleSeconds(figures.transfer), Reduction::kMean);
  const auto rows_bytes = static_cast<double>(figures.rows_bytes);
  values.add(kIdsBytes, static_cast<double>(figures.ids_bytes), Reduction::kMean);
  values.add(kRowsBytes, rows_bytes, Reduction::kMean);
  values.add(kMostRowsBytes, rows_bytes, Reduction::kMax);
  values.add(kSumsBytes, static_cast<double>(figures.sums_bytes), Reduction::kMean);
}

// Names of the figures of processes.
constexpr char kCpuSeconds[] = "cpu_seconds";
constexpr char kResidentBytes[] = "resident_bytes";
constexpr char kMajorFaults[] = "major_faults";
constexpr char kMinorFaults[] = "minor_faults";
constexpr char kBytesRead[] = "bytes_read";
constexpr char kProcessSeconds[] = "process_seconds";

// Adds the resources that this rank's process used between two moments.
void add_process(const ProcessFigures& from, const ProcessFigures& to, ReportedValues& values) {
  const auto add = [&](const char* name, double value) {
    values.add(name, value, Reduction::kSum);
  };
  add(kCpuSeconds, absl::ToDoubleSeconds(to.cpu - from.cpu));
  add(kResidentBytes, static_cast<double>(to.resident_bytes));
  add(kMajorFaults, static_cast<double>(to.major_faults - from.major_faults));
  add(kMinorFaults, static_cast<double>(to.minor_faults - from.minor_faults));
  add(kBytesRead, static_cast<double>(to.bytes_read - from.bytes_read));
  values.add(kProcessSeconds, absl::ToDoubleSeconds(to.at - from.at), Reduction::kLast);
}

// Returns the report for `merged`, the values of add_process() merged over all ranks.
ProcessReport process_report(const std::map<std::string, double>& merged) {
  ProcessReport report;
  const double seconds = merged.at(kProcessSeconds);
  if (seconds > 0) report.cores = merged.at(kCpuSeconds) / seconds;
  report.resident_bytes = static_cast<int64_t>(merged.at(kResidentBytes));
  report.major_faults = static_cast<int64_t>(merged.at(kMajorFaults));
  report.minor_faults = static_cast<int64_t>(merged.at(kMinorFaults));
  report.bytes_read = static_cast<int64_t>(merged.at(kBytesRead));
  return report;
}

// Returns the report for `merged`, the values of add_figures() merged over all ranks, and the
// number of steps in which they were collected.
RankReport rank_report(const std::map<std::string, double>& merged, int64_t steps) {
  RankReport report;
  const double seconds = merged.at(kFiguresSeconds);
  if (seconds > 0) {
    report.other_ranks_share = merged.at(kOtherRanks) / seconds;
    report.owners_share = merged.at(kOwners) / seconds;
    report.gradients_share = merged.at(kGradients) / seconds;
    report.transfer_share = merged.at(kTransfer) / seconds;
  }
  if (steps > 0) {
    report.ids_bytes = merged.at(kIdsBytes) / static_cast<double>(steps);
    report.rows_bytes = merged.at(kRowsBytes) / static_cast<double>(steps);
    report.sums_bytes = merged.at(kSumsBytes) / static_cast<double>(steps);
  }
  if (merged.at(kRowsBytes) > 0) {
    report.owner_imbalance = merged.at(kMostRowsBytes) / merged.at(kRowsBytes);
  }
  return report;
}

}  // namespace

Reporter::Reporter(MetricSet metrics, SpanMetrics spans,
                   absl::Span<const std::unique_ptr<DenseOptimizer>> dense,
                   const SparseOptimizer* sparse, std::vector<EmbeddingCollection*> collections,
                   const TrainingClock& clock)
    : metrics_(std::move(metrics)),
      spans_(std::move(spans)),
      dense_(dense),
      sparse_(sparse),
      collections_(std::move(collections)),
      clock_(clock),
      process_(read_process_figures()),
      figures_since_(clock.trained()),
      last_report_(clock.trained()) {
  if (spans_.keeps_examples()) metrics_.gather_examples();
}

absl::Status Reporter::add(const StepResult& step, SpanPosition position) {
  ++steps_;
  position_ = position;
  examples_ += step.examples;
  data_wait_ += step.timings.data_wait;
  add_hottest();
  return pending_.add(step, metrics_, values_);
}

void Reporter::add_hottest() {
  for (const EmbeddingCollection* collection : collections_) {
    for (const auto& table : collection->tables()) {
      const std::string& name = table->name();
      // Steps before a resume with one rank count too.
      const bool one_rank = table->placement().world_size == 1;
      if (one_rank && (hottest_.empty() || hottest_.count(name) == 0)) continue;
      const auto [entry, first] = hottest_.try_emplace(name);
      HottestSteps& steps = entry->second;
      if (first) steps.total = tables_[name].hottest;
      const int64_t total = table->content().counters().counted.hottest;
      steps.counts.add(steps_, std::max<int64_t>(0, total - std::exchange(steps.total, total)));
    }
  }
}

absl::Status Reporter::save_state(ReportState& state) {
  RETURN_IF_ERROR(fold());
  state.set_metrics(metrics_.save());
  state.set_values(values_.save());
  state.set_steps(steps_);
  state.set_examples(examples_);
  state.set_data_wait_nanoseconds(absl::ToInt64Nanoseconds(data_wait_));
  state.set_trained_nanoseconds(absl::ToInt64Nanoseconds(trained()));
  if (spans_.active()) {
    state.set_epoch(position_.epoch);
    state.set_window(position_.window);
    spans_.save(state);
  }
  for (const auto& [name, statistics] : tables_) {
    *state.add_table() = to_state(name, {0, 0, statistics});
  }
  for (const auto& [name, steps] : hottest_) {
    HottestState& hottest = *state.add_hottest();
    hottest.set_table(name);
    const absl::Span<const int64_t> counts = steps.counts.counts();
    hottest.mutable_count()->Add(counts.begin(), counts.end());
  }
  return absl::OkStatus();
}

absl::Status Reporter::load_hottest(absl::Span<const ReportState* const> parts) {
  hottest_.clear();
  for (const ReportState* part : parts) {
    for (const HottestState& state : part->hottest()) {
      const absl::Span<const int64_t> counts(state.count().data(), state.count_size());
      const bool valid =
          state.count_size() <= HottestCounts::kMost &&
          std::all_of(counts.begin(), counts.end(), [](int64_t count) { return count >= 0; });
      if (!valid) return absl::DataLossError("counts of the most frequent id are malformed");
      const auto [entry, first] = hottest_.try_emplace(state.table());
      HottestSteps& steps = entry->second;
      if (first) steps.total = tables_[state.table()].hottest;
      steps.counts.take_larger(counts);
      steps.total = std::accumulate(counts.begin(), counts.end(), steps.total);
    }
  }
  return absl::OkStatus();
}

absl::Status Reporter::load_figures(absl::Span<const ReportState* const> parts) {
  std::vector<absl::string_view> metrics, values;
  for (const ReportState* part : parts) {
    metrics.push_back(part->metrics());
    values.push_back(part->values());
    for (const TableCountersState& state : part->table()) {
      ASSIGN_OR_RETURN(const TableCounters counters, from_state(state));
      const auto [place, first] = tables_.try_emplace(state.table(), counters.counted);
      if (!first) place->second = merged({0, 0, place->second}, counters).counted;
    }
  }
  RETURN_IF_ERROR(load_hottest(parts));
  RETURN_IF_ERROR(metrics_.load_ranks(metrics));
  return values_.load_ranks(values);
}

absl::Status Reporter::load_state(const ReportState& own,
                                  absl::Span<const ReportState* const> parts) {
  pending_ = PendingSteps();
  tables_.clear();
  absl::Status status = load_figures(parts);
  status.Update(spans_.load(own));
  if (own.steps() < 0 || own.examples() < 0 || own.data_wait_nanoseconds() < 0 ||
      own.trained_nanoseconds() < 0) {
    status.Update(absl::DataLossError("a count or time is negative"));
  }
  const ReportState& good = status.ok() ? own : ReportState::default_instance();
  if (!status.ok()) {
    metrics_.reset();
    values_ = ReportedValues();
    tables_.clear();
    hottest_.clear();
    spans_.load(ReportState()).IgnoreError();  // an empty state has nothing that could be damaged
  }
  position_ = {.epoch = good.epoch(), .window = good.window()};
  steps_ = good.steps();
  examples_ = good.examples();
  data_wait_ = absl::Nanoseconds(good.data_wait_nanoseconds());
  last_report_ = clock_.trained() - absl::Nanoseconds(good.trained_nanoseconds());
  figures_since_ = clock_.trained();
  return annotate(status, "what was collected for the next report");
}

void Reporter::start_tables() {
  hottest_.clear();
  tables_ = table_statistics(collections_);
}

absl::StatusOr<Report> Reporter::take(const Progress& progress, Collectives& collectives,
                                      const RankFigures& figures) {
  RETURN_IF_ERROR(fold());
  ReportedValues times;
  times.add(kSeconds, absl::ToDoubleSeconds(trained()), Reduction::kLast);
  times.add(kDataWaitSeconds, absl::ToDoubleSeconds(data_wait_), Reduction::kMean);
  add_figures(figures, absl::ToDoubleSeconds(clock_.trained() - figures_since_), times);
  const ProcessFigures process = read_process_figures();
  add_process(std::exchange(process_, process), process, times);
  TableFigures tables;
  for (const auto& [name, now] : table_statistics(collections_)) {
    const auto hottest = hottest_.find(name);
    tables.add(name, now, std::exchange(tables_[name], now),
               hottest == hottest_.end() ? HottestCounts() : hottest->second.counts);
  }
  hottest_.clear();
  // All parts share one exchange, because each exchange costs a round trip.
  RETURN_IF_ERROR(merge_ranks(collectives, {&metrics_, &values_, &times, &tables}));
  std::map<std::string, double> merged_times;
  times.drain(&merged_times);
  figures_since_ = clock_.trained();

  Report report;
  report.progress = progress;
  report.steps = std::exchange(steps_, 0);
  report.examples = std::exchange(examples_, 0);
  const double seconds = merged_times[kSeconds];
  if (seconds > 0) {
    report.examples_per_second = static_cast<double>(report.examples) / seconds;
    report.rows_per_second = static_cast<double>(tables.lookups()) / seconds;
    report.data_wait_share = merged_times[kDataWaitSeconds] / seconds;
  }
  data_wait_ = absl::ZeroDuration();
  last_report_ = clock_.trained();
  report.metrics = metrics_.compute();
  // Spans add merged metrics, so that all ranks compute the same span.
  if (spans_.active()) {
    spans_.add(metrics_, position_);
    spans_.compute(report.metrics);
  }
  metrics_.reset();
  values_.drain(&report.values);
  for (size_t i = 0; i < dense_.size(); ++i) {
    report.learning_rates[dense_rate_name(i)] = dense_[i]->learning_rate(progress);
  }
  if (sparse_ != nullptr) report.learning_rates.merge(sparse_->learning_rates(progress));
  report.tables = tables.reports();
  if (collectives.world_size() > 1) report.ranks = rank_report(merged_times, figures.steps);
  report.process = process_report(merged_times);
  if (merged_times[kProcessSeconds] > 0) {
    report.bytes_per_second = merged_times[kBytesRead] / merged_times[kProcessSeconds];
  }
  report.distributions = std::exchange(distributions_, {});
  return report;
}

}  // namespace millrace
