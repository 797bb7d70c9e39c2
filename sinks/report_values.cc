#include "sinks/report_values.h"

#include <map>

#include "absl/strings/str_cat.h"

namespace millrace {
namespace {

void add(absl::string_view prefix, const std::map<std::string, double>& values,
         NamedNumbers& numbers) {
  for (const auto& [name, value] : values) numbers.emplace_back(absl::StrCat(prefix, name), value);
}

void add_table(const std::string& name, const TableReport& table, NamedNumbers& numbers) {
  const std::string prefix = absl::StrCat("table/", name, "/");
  const auto add = [&](const char* figure, double value) {
    numbers.emplace_back(prefix + figure, value);
  };
  add("rows", static_cast<double>(table.rows));
  add("bytes", static_cast<double>(table.bytes));
  add("load", table.load);
  add("candidates", static_cast<double>(table.candidates));
  add("inserted", static_cast<double>(table.inserted));
  add("unadmitted", static_cast<double>(table.unadmitted));
  add("unique_share", table.unique_share);
  add("hottest_share", table.hottest_share);
  for (const auto& [reason, rows] : table.evicted) {
    numbers.emplace_back(absl::StrCat(prefix, "evicted/", reason), static_cast<double>(rows));
  }
}

}  // namespace

NamedNumbers values_of(const Report& report) {
  NamedNumbers numbers = {{"examples_per_second", report.examples_per_second},
                          {"data_wait_share", report.data_wait_share}};
  add("", report.metrics, numbers);
  add("values/", report.values, numbers);
  add("learning_rate/", report.learning_rates, numbers);
  for (const auto& [name, table] : report.tables) add_table(name, table, numbers);
  if (report.ranks.has_value()) {
    const RankReport& ranks = *report.ranks;
    add("ranks/",
        {{"other_ranks_share", ranks.other_ranks_share},
         {"owners_share", ranks.owners_share},
         {"gradients_share", ranks.gradients_share},
         {"transfer_share", ranks.transfer_share},
         {"ids_bytes", ranks.ids_bytes},
         {"rows_bytes", ranks.rows_bytes},
         {"sums_bytes", ranks.sums_bytes},
         {"owner_imbalance", ranks.owner_imbalance}},
        numbers);
  }
  const ProcessReport& process = report.process;
  add("process/",
      {{"cores", process.cores},
       {"resident_bytes", static_cast<double>(process.resident_bytes)},
       {"major_faults", static_cast<double>(process.major_faults)},
       {"minor_faults", static_cast<double>(process.minor_faults)},
       {"bytes_read", static_cast<double>(process.bytes_read)}},
      numbers);
  return numbers;
}

NamedNumbers values_of(const EvaluationResult& result) {
  NamedNumbers numbers = {{"evaluation_seconds", absl::ToDoubleSeconds(result.elapsed)},
                          {"evaluated_examples", static_cast<double>(result.examples)}};
  add("", result.metrics, numbers);
  add("values/", result.values, numbers);
  return numbers;
}

}  // namespace millrace
