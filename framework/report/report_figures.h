// The figures of reports and evaluations, with their names in the output of sinks.
#ifndef MILLRACE_FRAMEWORK_REPORT_REPORT_FIGURES_H_
#define MILLRACE_FRAMEWORK_REPORT_REPORT_FIGURES_H_

#include <cstdint>
#include <variant>

#include "absl/time/time.h"
#include "absl/types/span.h"
#include "base/progress.h"
#include "hook/events.h"

namespace millrace {

// A family of metrics of Prometheus.
struct MetricFamily {
  enum class Type { kGauge, kCounter };

  const char* name;  // ends with the unit, followed by `_total` for a counter
  Type type;
  const char* help;
};

// A count, or a number with a fraction.
using FigureValue = std::variant<int64_t, double>;

// One number of a Part of a report, such as the rows of a table. JSON lines, values_of()
// (report_rows.h) and the page for Prometheus consist of the figures in the lists below. To add a
// figure, add a member to the part, a row to its list, and lines to docs/sinks.md and
// docs/hooks.md.
template <typename Part>
struct Figure {
  const char* name;     // in CSV, TensorBoard and MLflow, after the prefix of the part
  const char* json;     // in the JSON object of the part; a slash leads into a nested object
  MetricFamily family;  // equal for all figures of one family
  const char* label;    // label of its sample in the family, such as `for="owners"`; "": none
  std::variant<int64_t Part::*, double Part::*, absl::Duration Part::*> member;
};

// The figures of a report, in the order of the columns of CSV files. CSV has separate columns for
// progress.
extern const absl::Span<const Figure<Progress>> kProgressFigures;
extern const absl::Span<const Figure<Report>> kRateFigures;
// Figures of a table, without rows evicted by reason (TableReport::evicted).
extern const absl::Span<const Figure<TableReport>> kTableFigures;
extern const absl::Span<const Figure<RankReport>> kRankFigures;
extern const absl::Span<const Figure<ProcessReport>> kProcessFigures;
// Figures of an evaluation, without its progress.
extern const absl::Span<const Figure<EvaluationResult>> kEvaluationFigures;

// Returns the value of a figure; durations are in seconds.
template <typename Part>
FigureValue value_of(const Figure<Part>& figure, const Part& part) {
  if (const auto* count = std::get_if<int64_t Part::*>(&figure.member)) return part.*(*count);
  if (const auto* number = std::get_if<double Part::*>(&figure.member)) return part.*(*number);
  return absl::ToDoubleSeconds(part.*std::get<absl::Duration Part::*>(figure.member));
}

// Returns the value of a figure as a float64.
template <typename Part>
double number_of(const Figure<Part>& figure, const Part& part) {
  return std::visit([](auto value) { return static_cast<double>(value); }, value_of(figure, part));
}

}  // namespace millrace

#endif  // MILLRACE_FRAMEWORK_REPORT_REPORT_FIGURES_H_
