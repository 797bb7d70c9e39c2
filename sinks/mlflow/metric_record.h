// The numbers of one report or evaluation in the queue for the server.
#ifndef MILLRACE_SINKS_MLFLOW_METRIC_RECORD_H_
#define MILLRACE_SINKS_MLFLOW_METRIC_RECORD_H_

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace millrace {

struct MetricRecord {
  int64_t step = 0;
  int64_t time_ms = 0;  // since 1970
  // Evaluation set, or SinkStart::kTrain. None: not known, as of records of earlier versions.
  std::optional<std::string> set = std::nullopt;
  std::vector<std::pair<std::string, double>> metrics = {};  // names of MLflow → value

  friend bool operator==(const MetricRecord&, const MetricRecord&) = default;
};

// Returns the record as JSON in one line. Finite numbers are the shortest text with the same
// float64; other numbers are the texts "NaN", "Infinity" and "-Infinity".
std::string to_json(const MetricRecord& record);

// Reads what to_json() wrote. Errors: DataLoss.
absl::StatusOr<MetricRecord> parse_metric_record(absl::string_view json);

// Returns the step of a text with the beginning of a text of to_json(); 0 for other texts.
int64_t step_of(absl::string_view json);

// Returns a number as the requests of MLflow and to_json() have it.
std::string json_number(double value);

}  // namespace millrace

#endif  // MILLRACE_SINKS_MLFLOW_METRIC_RECORD_H_
