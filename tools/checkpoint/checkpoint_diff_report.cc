#include "tools/checkpoint/checkpoint_diff_report.h"

#include <nlohmann/json.hpp>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace millrace {
namespace {

using Json = nlohmann::ordered_json;

std::string values_text(const ValueDifference& values) {
  std::string text = absl::StrCat(values.changed, " numbers differ, by ");
  absl::StrAppendFormat(&text, "%.6g at most", values.max_abs);
  if (values.not_a_number > 0) {
    absl::StrAppend(&text, "; ", values.not_a_number, " are not a number");
  }
  return text;
}

// Returns "only in a", "only in b", or the difference in kind; "" for equal kinds.
std::string kind_text(const std::string& a, const std::string& b) {
  if (b.empty()) return absl::StrCat("only in a (", a, ")");
  if (a.empty()) return absl::StrCat("only in b (", b, ")");
  return a == b ? "" : absl::StrCat(a, " → ", b);
}

std::string table_text(const TableDifference& table) {
  const std::string name = absl::StrCat("table ", table.name, ": ");
  if (!table.in_a) return absl::StrCat(name, "rows only in b: ", table.rows_b, "\n");
  if (!table.in_b) return absl::StrCat(name, "rows only in a: ", table.rows_a, "\n");
  if (table.equal()) return absl::StrCat(name, "equal, ", table.rows_a, " rows\n");
  std::string text = absl::StrCat(name, table.rows_a, " → ", table.rows_b, " rows: ", table.added,
                                  " added, ", table.removed, " removed, ", table.changed,
                                  " changed, ", table.unchanged, " unchanged\n");
  for (const ColumnDifference& column : table.columns) {
    const std::string kind = kind_text(column.a, column.b);
    absl::StrAppend(&text, "  ", column.name, ": ",
                    kind.empty() ? absl::StrCat(column.changed_rows,
                                                " rows changed: ", values_text(column.values))
                                 : kind,
                    "\n");
  }
  return text;
}

Json values_json(const ValueDifference& values) {
  return {{"changed", values.changed},
          {"max_abs", values.max_abs},
          {"not_a_number", values.not_a_number}};
}

Json text_or_null(const std::string& text) { return text.empty() ? Json(nullptr) : Json(text); }

Json table_json(const TableDifference& table) {
  Json columns = Json::array();
  for (const ColumnDifference& column : table.columns) {
    columns.push_back({{"name", column.name},
                       {"a", text_or_null(column.a)},
                       {"b", text_or_null(column.b)},
                       {"changed_rows", column.changed_rows},
                       {"values", values_json(column.values)}});
  }
  return {{"equal", table.equal()},       {"in_a", table.in_a},
          {"in_b", table.in_b},           {"rows_a", table.rows_a},
          {"rows_b", table.rows_b},       {"added", table.added},
          {"removed", table.removed},     {"changed", table.changed},
          {"unchanged", table.unchanged}, {"columns", std::move(columns)}};
}

}  // namespace

std::string diff_text(const CheckpointDiff& diff) {
  std::string text;
  for (const std::string& line : diff.progress) absl::StrAppend(&text, "progress: ", line, "\n");
  for (const std::string& line : diff.job) absl::StrAppend(&text, "job: ", line, "\n");
  for (const std::string& line : diff.parts) absl::StrAppend(&text, "parts: ", line, "\n");
  for (const TensorDifference& tensor : diff.dense) {
    const std::string kind = kind_text(tensor.a, tensor.b);
    absl::StrAppend(&text, tensor.name, ": ", kind.empty() ? values_text(tensor.values) : kind,
                    "\n");
  }
  if (diff.equal_dense > 0) {
    absl::StrAppend(&text, "dense tensors that are equal: ", diff.equal_dense, "\n");
  }
  for (const TableDifference& table : diff.tables) absl::StrAppend(&text, table_text(table));
  absl::StrAppend(&text, diff.equal() ? "equal\n" : "different\n");
  return text;
}

std::string diff_json(const CheckpointDiff& diff) {
  Json dense = Json::array(), tables = Json::object();
  for (const TensorDifference& tensor : diff.dense) {
    dense.push_back({{"name", tensor.name},
                     {"a", text_or_null(tensor.a)},
                     {"b", text_or_null(tensor.b)},
                     {"values", values_json(tensor.values)}});
  }
  for (const TableDifference& table : diff.tables) tables[table.name] = table_json(table);
  const Json json = {
      {"equal", diff.equal()},      {"progress", diff.progress}, {"job", diff.job},
      {"parts", diff.parts},        {"dense", std::move(dense)}, {"equal_dense", diff.equal_dense},
      {"tables", std::move(tables)}};
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace millrace
