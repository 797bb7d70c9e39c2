#include "sinks/mlflow/metric_record.h"

#include <limits>
#include <nlohmann/json.hpp>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "sinks/mlflow/mlflow_json.h"
#include "sinks/number_text.h"

namespace millrace {
namespace {

using Json = nlohmann::json;

constexpr char kStep[] = "{\"step\":";

// Reads json_number(). Returns false if the value is something else.
bool read_number(const Json& value, double* number) {
  using Limits = std::numeric_limits<double>;
  if (value.is_number()) {
    *number = value.get<double>();
    return true;
  }
  if (value == "NaN") *number = Limits::quiet_NaN();
  if (value == "Infinity") *number = Limits::infinity();
  if (value == "-Infinity") *number = -Limits::infinity();
  return value == "NaN" || value == "Infinity" || value == "-Infinity";
}

}  // namespace

std::string json_number(double value) {
  return number_text(value, {"\"NaN\"", "\"Infinity\"", "\"-Infinity\""});
}

int64_t step_of(absl::string_view json) {
  int64_t step = 0;
  if (!absl::ConsumePrefix(&json, kStep)) return 0;
  return absl::SimpleAtoi(json.substr(0, json.find(',')), &step) ? step : 0;
}

std::string to_json(const MetricRecord& record) {
  std::string json = absl::StrCat(kStep, record.step, ",\"time\":", record.time_ms);
  if (record.set.has_value()) absl::StrAppend(&json, ",\"set\":", dump_json(*record.set));
  json += ",\"metrics\":[";
  const char* separator = "";
  for (const auto& [name, value] : record.metrics) {
    absl::StrAppend(&json, separator, "[", dump_json(name), ",", json_number(value), "]");
    separator = ",";
  }
  return json + "]}";
}

absl::StatusOr<MetricRecord> parse_metric_record(absl::string_view json) {
  const absl::Status malformed = absl::DataLossError("a record of the queue is malformed");
  const Json parsed = Json::parse(json.begin(), json.end(), nullptr, /*allow_exceptions=*/false);
  if (!parsed.is_object()) return malformed;
  const auto step = parsed.find("step"), time = parsed.find("time"),
             metrics = parsed.find("metrics");
  if (step == parsed.end() || time == parsed.end() || metrics == parsed.end() ||
      !step->is_number_integer() || !time->is_number_integer() || !metrics->is_array()) {
    return malformed;
  }
  MetricRecord record{.step = step->get<int64_t>(), .time_ms = time->get<int64_t>(), .metrics = {}};
  const auto set = parsed.find("set");
  if (set != parsed.end() && set->is_string()) record.set = set->get<std::string>();
  for (const Json& metric : *metrics) {
    double value = 0;
    if (!metric.is_array() || metric.size() != 2 || !metric[0].is_string() ||
        !read_number(metric[1], &value)) {
      return malformed;
    }
    record.metrics.emplace_back(metric[0].get<std::string>(), value);
  }
  return record;
}

}  // namespace millrace
