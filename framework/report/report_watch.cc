#include "framework/report/report_watch.h"

#include <cmath>
#include <map>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "framework/report/table_figures.h"

namespace millrace {
namespace {

constexpr int64_t kLeastExamples = 100;
constexpr double kFarAbove = 3;
constexpr double kBadLogloss = 1;

std::optional<double> find(const std::map<std::string, double>& metrics, const std::string& name) {
  const auto found = metrics.find(name);
  if (found == metrics.end()) return std::nullopt;
  return found->second;
}

// Returns the name of a metric of a task in reports.
std::string metric_of(const std::string& metric, const std::string& task, size_t tasks) {
  return tasks > 1 ? absl::StrCat(task, "/", metric) : metric;
}

// Returns the slices of texts that no example has.
std::vector<std::string> empty_slices(const SliceOptions& slice,
                                      const std::map<std::string, double>& metrics) {
  std::vector<std::string> empty;
  for (const auto& [id, text] : slice.id_names) {
    const std::string name = absl::StrCat(slice.name, "=", text);
    if (!metrics.contains(absl::StrCat(name, "/examples"))) empty.push_back(name);
  }
  return empty;
}

}  // namespace

void ReportWatch::begin_run() {
  examined_labels_ = false;
  first_.clear();
  last_.clear();
  last_steps_ = 0;
  warned_tables_.clear();
}

std::vector<std::string> ReportWatch::add(const Report& report) {
  std::vector<std::string> warnings;
  if (report.examples < kLeastExamples) return warnings;
  if (first_.empty()) first_ = report.metrics;
  // A short report at the end has too few steps to compare with the first report.
  if (!is_short(report, last_steps_)) last_ = report.metrics;
  last_steps_ = report.steps;
  for (const auto& [name, table] : report.tables) {
    // Unadmitted ids have no row either, without a fault of the data.
    const bool unknown = table.unknown_share >= kManyUnknownIds && table.unadmitted == 0;
    if (!unknown || !warned_tables_.insert(name).second) continue;
    warnings.push_back(absl::StrFormat(
        "%.0f %% of the lookups in the frozen table %s are of ids that have no row: the table does "
        "not know the ids of the training data",
        table.unknown_share * 100, name));
  }
  // Only the first report is examined, so that a label with one class gives one warning.
  if (std::exchange(examined_labels_, true)) return warnings;
  for (const std::string& task : tasks_) {
    const auto value = [&](const char* metric) {
      return find(report.metrics, metric_of(metric, task, tasks_.size()));
    };
    const std::optional<double> auc = value("auc");
    const std::optional<double> ne = value("ne");
    const bool one_class = (auc.has_value() && std::isnan(*auc)) &&
                           (!ne.has_value() || std::isnan(*ne)) &&
                           std::isfinite(find(report.metrics, "loss").value_or(0));
    if (!one_class) continue;
    warnings.push_back(absl::StrCat(
        "label ", task, ": the ", report.examples,
        " examples of the first report have one class, or no label, so auc does not exist; check "
        "the column of the label, and shuffle data that is sorted by it"));
  }
  return warnings;
}

std::optional<std::string> ReportWatch::end() const {
  const double first = find(first_, "loss").value_or(NAN);
  const double last = find(last_, "loss").value_or(NAN);
  constexpr char kAdvice[] = "; the learning rate may be too high";
  if (first > 0 && last > kFarAbove * first) {
    return absl::StrFormat("the loss of the last report, %.6g, is far above %.6g of the first%s",
                           last, first, kAdvice);
  }
  for (const std::string& task : tasks_) {
    const double logloss = find(last_, metric_of("logloss", task, tasks_.size())).value_or(NAN);
    if (!(logloss > kBadLogloss)) continue;
    return absl::StrFormat(
        "label %s: logloss of the last report is %.4g, worse than 0.693 of predicting 0.5 always%s",
        task, logloss, kAdvice);
  }
  return std::nullopt;
}

std::vector<EvaluationWarning> check_evaluation(const EvaluationResult& result,
                                                absl::Span<const std::string> tasks,
                                                absl::Span<const SliceOptions> slices) {
  std::vector<EvaluationWarning> warnings;
  for (const auto& [table, share] : result.unknown_shares) {
    if (share < kManyUnknownIds) continue;
    warnings.push_back(
        {absl::StrCat("table ", table),
         absl::StrFormat(
             "%.0f %% of the lookups in table %s are of ids that have no row, so the model does "
             "not know them. If these ids are not new, their form differs from that of the "
             "training data, such as 7.0 in place of 7, another encoding, leading zeros or blanks",
             share * 100, table)});
  }
  for (const std::string& task : tasks) {
    const auto value = [&](const char* metric) {
      return find(result.metrics, metric_of(metric, task, tasks.size()));
    };
    const std::optional<double> auc = value("auc");
    // Without labels, which a prediction does not need, these have no value either.
    std::optional<double> loss = value("logloss");
    if (!loss.has_value()) loss = value("loss");
    if (!loss.has_value()) loss = find(result.metrics, "loss");
    const bool one_class = std::isnan((auc.has_value() ? auc : value("ne")).value_or(0)) &&
                           std::isfinite(loss.value_or(NAN));
    if (!one_class) continue;
    warnings.push_back({absl::StrCat("label ", task),
                        absl::StrCat("label ", task, ": the ", result.examples,
                                     " examples have one class, so auc and ne do not exist; check "
                                     "the data and its split")});
  }
  for (const SliceOptions& slice : slices) {
    const std::vector<std::string> empty = empty_slices(slice, result.metrics);
    if (empty.empty()) continue;
    warnings.push_back({absl::StrCat("slice ", slice.name),
                        absl::StrCat("no example is in the slice ", absl::StrJoin(empty, ", "),
                                     "; check the spelling in slice.text")});
  }
  return warnings;
}

}  // namespace millrace
