// Reports and evaluations as named numbers, and as lines of JSON.
#ifndef MILLRACE_FRAMEWORK_REPORT_REPORT_ROWS_H_
#define MILLRACE_FRAMEWORK_REPORT_REPORT_ROWS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "hook/events.h"

namespace millrace {

// Name → value, names all different.
using NamedNumbers = std::vector<std::pair<std::string, double>>;

// Returns all numbers of a report except its progress, in an order that depends only on the names:
// kRateFigures (framework/report/report_figures.h); metrics by their names; "values/NAME",
// "learning_rate/NAME", "table/TABLE/rows" and the like, "ranks/owners_share" and the like,
// "process/cores" and the like.
NamedNumbers values_of(const Report& report);

// Returns kEvaluationFigures, metrics by their names, "values/NAME" and
// "table/TABLE/unknown_share".
NamedNumbers values_of(const EvaluationResult& result);

// The directory in run.output_dir of the hook metric_report, and the names of its files with a row
// for each report, and for each evaluation.
inline constexpr char kRowsDirectory[] = "metrics";
inline constexpr char kTrainRows[] = "train.jsonl", kEvalRows[] = "eval.jsonl";

// Returns a row: a JSON object in one line without its end, which begins with the step. `time`: the
// time of day of the report. docs/hooks.md lists the fields.
std::string report_row(const Report& report, absl::Time time);
std::string report_row(const EvaluationResult& result, absl::Time time);

// What a row is about.
struct ReportKey {
  int64_t step = 0;
  std::string set;  // an evaluation set, or SinkStart::kTrain
};

// Reads the key of a row of report_row(), without its numbers. Errors: DataLoss if the line is no
// row.
absl::StatusOr<ReportKey> parse_report_key(absl::string_view line);

// The content of a row.
struct ReportRow : ReportKey {
  std::optional<absl::Time> time = std::nullopt;  // in milliseconds; none: a row of version 0.1.0
  NamedNumbers numbers = {};                      // as values_of() returned them
  double seconds = 0;                             // of training, over all resumes
};

// Reads a row of report_row(). Rows of version 0.1.0 have not-a-number in place of infinities.
// Errors: DataLoss if the line is no row.
absl::StatusOr<ReportRow> parse_report_row(absl::string_view line);

}  // namespace millrace

#endif  // MILLRACE_FRAMEWORK_REPORT_REPORT_ROWS_H_
