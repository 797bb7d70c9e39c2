#include "tools/text_table.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/utf8/characters.h"

namespace millrace {
std::string TextTable::text() const {
  std::vector<std::string> titles;
  std::vector<size_t> widths;
  for (const Column& column : columns_) {
    titles.push_back(column.title);
    widths.push_back(count_characters(column.title));
  }
  for (const auto& row : rows_) {
    for (size_t i = 0; i < widths.size(); ++i)
      widths[i] = std::max(widths[i], count_characters(row[i]));
  }
  std::string text;
  auto add_line = [&](const std::vector<std::string>& cells) {
    std::string line;
    for (size_t i = 0; i < cells.size(); ++i) {
      const std::string gap(widths[i] - count_characters(cells[i]), ' ');
      const bool right = columns_[i].align == kRight;
      absl::StrAppend(&line, i == 0 ? "" : "  ", right ? gap : "", cells[i], right ? "" : gap);
    }
    // Blanks at the end of a line would wrap in a narrow terminal.
    line.erase(line.find_last_not_of(' ') + 1);
    absl::StrAppend(&text, line, "\n");
  };
  add_line(titles);
  for (const auto& row : rows_) add_line(row);
  return text;
}

std::string bytes_text(int64_t bytes) {
  if (bytes < 1024) return absl::StrCat(bytes, " B");
  const char* units[] = {"KiB", "MiB", "GiB", "TiB", "PiB"};
  double value = static_cast<double>(bytes) / 1024;
  int unit = 0;
  for (; unit < 4 && value >= 999.95; ++unit) value /= 1024;
  return absl::StrFormat("%.1f %s", value, units[unit]);
}

}  // namespace millrace
