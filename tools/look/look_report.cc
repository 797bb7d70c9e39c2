#include "tools/look/look_report.h"

#include <cmath>
#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "tools/text_table.h"

namespace millrace {
namespace {

using Json = nlohmann::ordered_json;

constexpr size_t kNameBytes = 16;
constexpr size_t kTypeBytes = 9;

// Cuts a text to `limit` bytes, at a character of UTF-8; "~" marks the cut.
std::string cut(const std::string& text, size_t limit) {
  if (text.size() <= limit) return text;
  size_t end = limit - 1;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xc0) == 0x80) --end;
  return text.substr(0, end) + "~";
}

// "12", "12.3k", "4.56M", "7.89G".
std::string count_text(double count) {
  const double size = std::abs(count);
  if (size < 10000) return absl::StrFormat("%.0f", count);
  if (size < 1e6) return absl::StrFormat("%.1fk", count / 1e3);
  if (size < 1e9) return absl::StrFormat("%.2fM", count / 1e6);
  return absl::StrFormat("%.2fG", count / 1e9);
}

std::string number_text(double number) { return absl::StrFormat("%.3g", number); }

std::string share_text(double share) { return absl::StrFormat("%.1f", 100 * share); }

bool is_numeric(const ColumnLook& column) { return !column.quantiles.empty(); }

// "~" marks an estimate.
std::string distinct_text(const ColumnLook& column) {
  const double estimate = column.estimated_distinct;
  const bool is_exact = estimate == static_cast<double>(column.distinct);
  return absl::StrCat(is_exact ? "" : "~", count_text(estimate));
}

std::string length_text(const ColumnLook& column) {
  if (column.max_length <= 1) return "";
  return absl::StrCat(number_text(column.mean_length), "/",
                      count_text(static_cast<double>(column.max_length)));
}

std::string columns_text(const FileSetLook& look) {
  TextTable table({{"column"},
                   {"type"},
                   {"null%", TextTable::kRight},
                   {"values", TextTable::kRight},
                   {"top%", TextTable::kRight},
                   {"top10%", TextTable::kRight},
                   {"min", TextTable::kRight},
                   {"mean", TextTable::kRight},
                   {"max", TextTable::kRight},
                   {"len", TextTable::kRight}});
  for (const ColumnLook& column : look.columns) {
    if (column.kind == ValueKind::kUnreadable) {
      table.add({cut(column.name, kNameBytes), cut(column.type_name, kTypeBytes), "", "not read",
                 "", "", "", "", "", ""});
      continue;
    }
    const bool numeric = is_numeric(column);
    table.add({cut(column.name, kNameBytes), std::string(name_of(column.kind)),
               share_text(column.missing_share()), distinct_text(column),
               share_text(column.top_share), share_text(column.top_ten_share),
               numeric ? number_text(column.min) : "", numeric ? number_text(column.mean) : "",
               numeric ? number_text(column.max) : "", length_text(column)});
  }
  return table.text();
}

std::string set_text(const std::string& what, const FileSetLook& look) {
  return absl::StrFormat("%s: %s, %d file%s, %d rows, %d columns\n", what, look.format,
                         look.files.size(), look.files.size() == 1 ? "" : "s", look.rows,
                         look.columns.size());
}

}  // namespace

std::string look_text(const DataLook& look) {
  std::string text = set_text("data", look.train);
  absl::StrAppend(&text, columns_text(look.train));
  return text;
}

std::string look_json(const DataLook& look) { return ""; }

}  // namespace millrace
