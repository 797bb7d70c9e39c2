#include "framework/report/report_rows.h"

#include <cmath>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <variant>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "base/lines/line_text.h"
#include "base/status_macros.h"
#include "framework/report/report_figures.h"
#include "framework/report/sink.h"

namespace millrace {
namespace {

using ReadJson = nlohmann::json;
using RowJson = nlohmann::ordered_json;

constexpr char kTimeFormat[] = "%Y-%m-%dT%H:%M:%E3SZ";  // as in events.jsonl

void add(absl::string_view prefix, const std::map<std::string, double>& values,
         NamedNumbers& numbers) {
  for (const auto& [name, value] : values) numbers.emplace_back(absl::StrCat(prefix, name), value);
}

template <typename Part>
void add(const std::string& prefix, absl::Span<const Figure<Part>> figures, const Part& part,
         NamedNumbers& numbers) {
  for (const Figure<Part>& figure : figures) {
    numbers.emplace_back(prefix + figure.name, number_of(figure, part));
  }
}

void add_table(const std::string& name, const TableReport& table, NamedNumbers& numbers) {
  const std::string prefix = absl::StrCat("table/", name, "/");
  add(prefix, kTableFigures, table, numbers);
  for (const auto& [reason, rows] : table.evicted) {
    numbers.emplace_back(absl::StrCat(prefix, "evicted/", reason), static_cast<double>(rows));
  }
}

template <typename Part>
void write_figures(absl::Span<const Figure<Part>> figures, const Part& part, RowJson& json) {
  for (const Figure<Part>& figure : figures) {
    RowJson& number = json[RowJson::json_pointer(absl::StrCat("/", figure.json))];
    std::visit([&](auto value) { number = value; }, value_of(figure, part));
  }
}

void write_values(const char* key, const std::map<std::string, double>& values, RowJson& json) {
  RowJson& numbers = json[key] = RowJson::object();
  for (const auto& [name, value] : values) numbers[name] = value;
}

void write_tables(const std::map<std::string, TableReport>& tables, RowJson& json) {
  RowJson& objects = json["tables"] = RowJson::object();
  for (const auto& [name, table] : tables) {
    RowJson& object = objects[name];
    write_figures(kTableFigures, table, object);
    object["evicted"] = table.evicted;
  }
}

// JSON has null in place of infinities, so their signs are written under the names of values_of().
void write_time_and_infinities(absl::Time time, const NamedNumbers& numbers, RowJson& json) {
  json["time"] = absl::FormatTime(kTimeFormat, time, absl::UTCTimeZone());
  for (const auto& [name, value] : numbers) {
    if (std::isinf(value)) json["infinite"][name] = value > 0 ? 1 : -1;
  }
}

// Reads the numbers of a row in the order of values_of().
class RowReader {
 public:
  explicit RowReader(const ReadJson& row) : infinite_(part_of(row, "infinite")) {
    add_figures("", kRateFigures, row);
    add_figures("", kEvaluationFigures, row);
    add_values("", part_of(row, "metrics"));
    add_values("values/", part_of(row, "values"));
    add_values("learning_rate/", part_of(row, "learning_rates"));
    for (const auto& [name, table] : part_of(row, "tables").items()) {
      const std::string prefix = absl::StrCat("table/", name, "/");
      add_figures(prefix, kTableFigures, table);
      add_values(absl::StrCat(prefix, "evicted/"), part_of(table, "evicted"));
    }
    for (const auto& [name, share] : part_of(row, "unknown_shares").items()) {
      add_number(absl::StrCat("table/", name, "/unknown_share"), share);
    }
    add_figures("ranks/", kRankFigures, part_of(row, "ranks"));
    add_figures("process/", kProcessFigures, part_of(row, "process"));
  }

  NamedNumbers take() { return std::move(numbers_); }

 private:
  // Returns the object under a key; an empty object if there is none.
  static const ReadJson& part_of(const ReadJson& json, const char* key) {
    static const auto* const none = new ReadJson(ReadJson::object());
    const auto found = json.find(key);
    return found != json.end() && found->is_object() ? *found : *none;
  }

  void add_number(std::string name, const ReadJson& value) {
    using Limits = std::numeric_limits<double>;
    double number = Limits::quiet_NaN();
    if (value.is_number()) {
      number = value.get<double>();
    } else if (!value.is_null()) {
      return;
    } else if (const auto sign = infinite_.find(name);
               sign != infinite_.end() && sign->is_number()) {
      number = std::copysign(Limits::infinity(), sign->get<double>());
    }
    numbers_.emplace_back(std::move(name), number);
  }

  void add_values(const std::string& prefix, const ReadJson& values) {
    for (const auto& [name, value] : values.items()) add_number(prefix + name, value);
  }

  template <typename Part>
  void add_figures(const std::string& prefix, absl::Span<const Figure<Part>> figures,
                   const ReadJson& part) {
    for (const Figure<Part>& figure : figures) {
      const ReadJson::json_pointer place(absl::StrCat("/", figure.json));
      if (part.contains(place)) add_number(prefix + figure.name, part[place]);
    }
  }

  const ReadJson& infinite_;  // name → sign
  NamedNumbers numbers_;
};

ReadJson json_of(absl::string_view line) {
  return ReadJson::parse(line.begin(), line.end(), nullptr, /*allow_exceptions=*/false);
}

absl::StatusOr<ReportKey> report_key_of(const ReadJson& row) {
  const auto step = row.find("step"), set = row.find("set");
  if (step == row.end() || !step->is_number_integer()) {
    return absl::DataLossError("a row of reports is malformed");
  }
  ReportKey key{.step = step->get<int64_t>(), .set = SinkStart::kTrain};
  if (set != row.end() && set->is_string()) key.set = set->get<std::string>();
  return key;
}

}  // namespace

NamedNumbers values_of(const Report& report) {
  NamedNumbers numbers;
  add("", kRateFigures, report, numbers);
  add("", report.metrics, numbers);
  add("values/", report.values, numbers);
  add("learning_rate/", report.learning_rates, numbers);
  for (const auto& [name, table] : report.tables) add_table(name, table, numbers);
  if (report.ranks.has_value()) add("ranks/", kRankFigures, *report.ranks, numbers);
  add("process/", kProcessFigures, report.process, numbers);
  return numbers;
}

NamedNumbers values_of(const EvaluationResult& result) {
  NamedNumbers numbers;
  add("", kEvaluationFigures, result, numbers);
  add("", result.metrics, numbers);
  add("values/", result.values, numbers);
  for (const auto& [table, share] : result.unknown_shares) {
    numbers.emplace_back(absl::StrCat("table/", table, "/unknown_share"), share);
  }
  return numbers;
}

std::string report_row(const Report& report, absl::Time time) {
  RowJson json;
  write_figures(kProgressFigures, report.progress, json);
  write_figures(kRateFigures, report, json);
  write_values("metrics", report.metrics, json);
  write_values("values", report.values, json);
  write_values("learning_rates", report.learning_rates, json);
  write_tables(report.tables, json);
  write_figures(kProcessFigures, report.process, json["process"]);
  if (report.ranks.has_value()) write_figures(kRankFigures, *report.ranks, json["ranks"]);
  write_time_and_infinities(time, values_of(report), json);
  return json_line(json);
}

std::string report_row(const EvaluationResult& result, absl::Time time) {
  RowJson json;
  write_figures(kProgressFigures, result.progress, json);
  json["set"] = result.set;
  write_figures(kEvaluationFigures, result, json);
  write_values("metrics", result.metrics, json);
  write_values("values", result.values, json);
  write_values("unknown_shares", result.unknown_shares, json);
  write_time_and_infinities(time, values_of(result), json);
  return json_line(json);
}

absl::StatusOr<ReportKey> parse_report_key(absl::string_view line) {
  return report_key_of(json_of(line));
}

absl::StatusOr<ReportRow> parse_report_row(absl::string_view line) {
  const ReadJson json = json_of(line);
  ASSIGN_OR_RETURN(ReportKey key, report_key_of(json));
  ReportRow row{std::move(key)};
  absl::Time read;
  if (const auto time = json.find("time");
      time != json.end() && time->is_string() &&
      absl::ParseTime(kTimeFormat, time->get<std::string>(), &read, nullptr)) {
    row.time = read;
  }
  row.numbers = RowReader(json).take();
  if (const auto seconds = json.find("seconds"); seconds != json.end() && seconds->is_number()) {
    row.seconds = seconds->get<double>();
  }
  return row;
}

}  // namespace millrace
