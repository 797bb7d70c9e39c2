#include "framework/report/numbered_reports_testing.h"

#include <cstdint>
#include <variant>

#include "absl/time/time.h"
#include "absl/types/span.h"
#include "framework/report/report_figures.h"

namespace millrace {
namespace {

// A generator of different numbers.
class Numbers {
 public:
  int64_t next() {
    numbers_.push_back(static_cast<double>(++last_));
    return last_;
  }
  template <typename Part>
  void fill(absl::Span<const Figure<Part>> figures, Part& part) {
    for (const Figure<Part>& figure : figures) {
      if (const auto* count = std::get_if<int64_t Part::*>(&figure.member)) {
        part.*(*count) = next();
      } else if (const auto* number = std::get_if<double Part::*>(&figure.member)) {
        part.*(*number) = static_cast<double>(next());
      } else {
        part.*std::get<absl::Duration Part::*>(figure.member) = absl::Seconds(next());
      }
    }
  }
  double next_double() { return static_cast<double>(next()); }
  const std::vector<double>& all() const { return numbers_; }

 private:
  int64_t last_ = 1000;
  std::vector<double> numbers_;
};

}  // namespace

NumberedReport numbered_report() {
  Numbers numbers;
  Report report;
  report.progress.step = 10;
  report.steps = 10;
  report.metrics = {{"loss", numbers.next_double()}, {"auc", numbers.next_double()}};
  report.values = {{"margin", numbers.next_double()}};
  report.learning_rates = {{"dense", numbers.next_double()}, {"sparse", numbers.next_double()}};
  numbers.fill(kRateFigures, report);
  for (const char* name : {"items", "users"}) {
    TableReport& table = report.tables[name];
    numbers.fill(kTableFigures, table);
    table.evicted = {{"limit", numbers.next()}, {"idle_steps", numbers.next()}};
  }
  numbers.fill(kRankFigures, report.ranks.emplace());
  numbers.fill(kProcessFigures, report.process);
  return {report, numbers.all()};
}

NumberedEvaluation numbered_evaluation() {
  Numbers numbers;
  EvaluationResult result;
  result.set = "eval";
  result.progress.step = 10;
  result.metrics = {{"loss", numbers.next_double()}, {"auc", numbers.next_double()}};
  result.values = {{"margin", numbers.next_double()}};
  numbers.fill(kEvaluationFigures, result);
  return {result, numbers.all()};
}

}  // namespace millrace
