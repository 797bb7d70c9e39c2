// Aligned columns of text, for people.
#ifndef MILLRACE_TOOLS_TEXT_TABLE_H_
#define MILLRACE_TOOLS_TEXT_TABLE_H_

#include <cstdint>
#include <string>
#include <vector>

namespace millrace {

// A table of text, each column as wide as its widest cell, two spaces between columns.
//
//   TextTable table({{"name"}, {"rows", TextTable::kRight}});
//   table.add({"items", "12"});
//   std::cout << table.text();
class TextTable {
 public:
  enum Align { kLeft, kRight };
  struct Column {
    std::string title;
    Align align = kLeft;
  };

  explicit TextTable(std::vector<Column> columns) : columns_(std::move(columns)) {}

  // Appends a row. REQUIRES: a cell per column, UTF-8.
  void add(std::vector<std::string> cells) { rows_.push_back(std::move(cells)); }
  bool empty() const { return rows_.empty(); }
  // Returns a line of titles and a line per row, without trailing spaces.
  std::string text() const;

 private:
  std::vector<Column> columns_;
  std::vector<std::vector<std::string>> rows_;
};

// Returns a number of bytes for people: "17 B", "1.5 KiB", "3.8 GiB".
std::string bytes_text(int64_t bytes);

}  // namespace millrace

#endif  // MILLRACE_TOOLS_TEXT_TABLE_H_
