#include "framework/report/report_figures.h"

namespace millrace {
namespace {

constexpr MetricFamily gauge(const char* name, const char* help) {
  return {name, MetricFamily::Type::kGauge, help};
}

constexpr MetricFamily counter(const char* name, const char* help) {
  return {name, MetricFamily::Type::kCounter, help};
}

constexpr MetricFamily kWaiting =
    gauge("millrace_rank_waiting_ratio", "Share of the time in which a rank waited.");
constexpr MetricFamily kSent =
    gauge("millrace_rank_bytes_per_step", "Bytes that a rank sent in a step for tables.");
constexpr MetricFamily kFaults =
    counter("millrace_page_faults_total", "Page faults; major ones read from a disk.");

constexpr Figure<Progress> kProgress[] = {
    {"step", "step", gauge("millrace_progress_steps", "Updates applied, over all resumes."), "",
     &Progress::step},
    {"examples", "examples",
     gauge("millrace_progress_examples", "Examples of all ranks, over all resumes."), "",
     &Progress::examples},
    {"epoch", "epoch", gauge("millrace_epoch", "Epochs finished."), "", &Progress::epoch},
    {"window", "window", gauge("millrace_window", "Windows finished."), "", &Progress::window},
    {"skipped_steps", "skipped_steps",
     gauge("millrace_progress_skipped_steps", "Steps refused, over all resumes."), "",
     &Progress::skipped_steps},
    {"seconds", "seconds",
     gauge("millrace_progress_seconds", "Time spent training, over all resumes."), "",
     &Progress::elapsed}};

constexpr Figure<Report> kRates[] = {
    {"examples_per_second", "examples_per_second",
     gauge("millrace_examples_per_second", "Examples per second since the report before."), "",
     &Report::examples_per_second},
    {"rows_per_second", "rows_per_second",
     gauge("millrace_rows_per_second",
           "Ids looked up in tables per second since the report before, of all ranks."),
     "", &Report::rows_per_second},
    {"bytes_per_second", "bytes_per_second",
     gauge("millrace_bytes_per_second",
           "Bytes read from files per second since the report before, of all ranks."),
     "", &Report::bytes_per_second},
    {"data_wait_share", "data_wait_share",
     gauge("millrace_data_wait_ratio", "Share of the time in which training waited for data."), "",
     &Report::data_wait_share}};

constexpr Figure<TableReport> kTable[] = {
    {"rows", "rows", gauge("millrace_table_rows", "Rows of an embedding table."), "",
     &TableReport::rows},
    {"bytes", "bytes", gauge("millrace_table_bytes", "Memory of an embedding table."), "",
     &TableReport::bytes},
    {"load", "load", gauge("millrace_table_load_ratio", "Share of the id map's entries in use."),
     "", &TableReport::load},
    {"candidates", "candidates",
     gauge("millrace_table_candidates", "Ids without a row that have an exact count."), "",
     &TableReport::candidates},
    {"inserted", "inserted", counter("millrace_table_inserted_total", "Rows inserted."), "",
     &TableReport::inserted},
    {"unadmitted", "unadmitted",
     counter("millrace_table_unadmitted_total", "Lookups of ids without a row."), "",
     &TableReport::unadmitted},
    {"unique_share", "unique_share",
     gauge("millrace_table_unique_ratio", "Distinct ids over ids looked up, in a step."), "",
     &TableReport::unique_share},
    {"hottest_share", "hottest_share",
     gauge("millrace_table_hottest_ratio", "Share of the most frequent id of a step."), "",
     &TableReport::hottest_share},
    {"unknown_share", "unknown_share",
     gauge("millrace_table_unknown_ratio", "Share of the lookups whose ids have no row."), "",
     &TableReport::unknown_share}};

constexpr Figure<RankReport> kRanks[] = {
    {"gradients_share", "waiting/gradients", kWaiting, "for=\"gradients\"",
     &RankReport::gradients_share},
    {"ids_bytes", "bytes_per_step/ids", kSent, "kind=\"ids\"", &RankReport::ids_bytes},
    {"other_ranks_share", "waiting/other_ranks", kWaiting, "for=\"other_ranks\"",
     &RankReport::other_ranks_share},
    {"owner_imbalance", "owner_imbalance",
     gauge("millrace_rank_owner_imbalance_ratio",
           "Bytes of rows of the rank that sent most, over the mean of ranks."),
     "", &RankReport::owner_imbalance},
    {"owners_share", "waiting/owners", kWaiting, "for=\"owners\"", &RankReport::owners_share},
    {"rows_bytes", "bytes_per_step/rows", kSent, "kind=\"rows\"", &RankReport::rows_bytes},
    {"sums_bytes", "bytes_per_step/sums", kSent, "kind=\"sums\"", &RankReport::sums_bytes},
    {"transfer_share", "waiting/transfer", kWaiting, "for=\"transfer\"",
     &RankReport::transfer_share}};

constexpr Figure<ProcessReport> kProcess[] = {
    {"bytes_read", "bytes_read",
     counter("millrace_read_bytes_total", "Bytes read from files, also from the page cache."), "",
     &ProcessReport::bytes_read},
    {"cores", "cores", gauge("millrace_cpu_cores", "CPU time for each second, of all ranks."), "",
     &ProcessReport::cores},
    {"major_faults", "major_faults", kFaults, "kind=\"major\"", &ProcessReport::major_faults},
    {"minor_faults", "minor_faults", kFaults, "kind=\"minor\"", &ProcessReport::minor_faults},
    {"resident_bytes", "resident_bytes",
     gauge("millrace_resident_memory_bytes", "Resident memory of all ranks."), "",
     &ProcessReport::resident_bytes}};

constexpr Figure<EvaluationResult> kEvaluation[] = {
    {"evaluation_seconds", "evaluation_seconds",
     gauge("millrace_evaluation_seconds", "Time that the last evaluation took."), "",
     &EvaluationResult::elapsed},
    {"evaluated_examples", "evaluated_examples",
     gauge("millrace_evaluated_examples", "Examples of the last evaluation."), "",
     &EvaluationResult::examples}};

}  // namespace

constinit const absl::Span<const Figure<Progress>> kProgressFigures = kProgress;
constinit const absl::Span<const Figure<Report>> kRateFigures = kRates;
constinit const absl::Span<const Figure<TableReport>> kTableFigures = kTable;
constinit const absl::Span<const Figure<RankReport>> kRankFigures = kRanks;
constinit const absl::Span<const Figure<ProcessReport>> kProcessFigures = kProcess;
constinit const absl::Span<const Figure<EvaluationResult>> kEvaluationFigures = kEvaluation;

}  // namespace millrace
