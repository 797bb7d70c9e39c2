// Conversion of cells of delimited text, whose places are known, to the values of a column.
#ifndef MILLRACE_IO_FORMAT_CELL_PARSER_H_
#define MILLRACE_IO_FORMAT_CELL_PARSER_H_

#include <cstdint>
#include <functional>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "io/column.h"

namespace millrace {

// Some consecutive rows of delimited text. The cells of row r are those from first_cells[r] on, and
// cell i is text[ends[i - 1] + 1, ends[i]); ends[-1] is there too, -1 modulo 2^32. Borrowed.
struct CellTile {
  const char* text = nullptr;  // kTextPadding readable bytes behind it
  const uint32_t* ends = nullptr;
  absl::Span<const uint32_t> first_cells;

  int64_t rows() const { return static_cast<int64_t>(first_cells.size()); }
};

// The notation of the cells of a column.
struct CellFormat {
  bool hexadecimal = false;  // integers, of 1 to 16 digits; else decimal
  char list_delimiter = 0;   // 0: one value; else a list, whose empty pieces are omitted
  bool is_last = false;      // of its line: a carriage return at its end ends the line
  bool is_typed = false;     // by the header, which decides about lists, not the configuration
};

// Called for a cell that holds something else: `row` within the tile, what is wrong. Returns: an
// error that ends parsing, or OK to continue with the cell as a missing value.
using OnBadCell = std::function<absl::Status(int64_t row, absl::string_view what)>;

// Fills a column from consecutive tiles. An empty cell is a missing value; numbers may stand among
// blanks. A boolean (io/text_values.h) is the decimal number 1 or 0. Quotes are characters like
// others.
class CellParser {
 public:
  // `as` is any type but kText. REQUIRES: as many rows in all tiles.
  CellParser(ValueType as, CellFormat format, int64_t rows);

  // Appends cell `cell` of each row. Errors: as `on_bad`.
  absl::Status append(const CellTile& tile, int64_t cell, const OnBadCell& on_bad);

  // The column. REQUIRES: all rows were appended.
  Column finish();

 private:
  template <typename T, typename Fast, typename Slow>
  absl::Status append_numbers(const CellTile& tile, int64_t cell, const OnBadCell& on_bad,
                              std::vector<T>* values, Fast fast, Slow slow);
  void append_texts(const CellTile& tile, int64_t cell);
  absl::Status append_lists(const CellTile& tile, int64_t cell, const OnBadCell& on_bad);
  bool append_piece(absl::string_view piece);

  const CellFormat format_;
  Column column_;
  int64_t row_ = 0;
  int64_t values_ = 0;
};

}  // namespace millrace

#endif  // MILLRACE_IO_FORMAT_CELL_PARSER_H_
