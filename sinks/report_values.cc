#include "sinks/report_values.h"

#include <map>

#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "framework/report/report_figures.h"

namespace millrace {
namespace {

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

}  // namespace millrace
