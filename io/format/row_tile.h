// The rows and cells of a stretch of delimited text, quoted cells without their quotes.
#ifndef MILLRACE_IO_FORMAT_ROW_TILE_H_
#define MILLRACE_IO_FORMAT_ROW_TILE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "base/isa/instruction_set.h"
#include "io/format/cell_index.h"

namespace millrace {

// A quoted cell that is bad data: text follows its closing quote.
struct QuoteFault {
  uint32_t cell = 0;  // its number in the tile, where it is an empty cell
  int64_t line = 0;   // line feeds between the begin of the tile and the closing quote
  std::string text;   // what follows, up to the end of the cell; at most 40 bytes
};

// The rows of one tile: the text that a reader handles at a time, so small that it stays in the
// cache with its index. A reader makes one RowTile and finds tile after tile with it.
//
// A cell of quoted text that begins with a quote ends at the next single quote. Inside, two quotes
// stand for one, and delimiters and line feeds are text. Rows of such a tile are copied without
// what quotes a cell, so that all cells of a tile can be parsed alike; blank lines are omitted from
// it. Quotes within other cells are text. Between the closing quote and the line feed carriage
// returns are allowed. Any other text there makes a QuoteFault, which extends to the next delimiter
// or line feed.
//
//   RowTile tile(',', 3);
//   for (int64_t at = 0; at < size && tile.find(text + at, size - at, quoted);
//        at += tile.source_bytes()) { ... }
class RowTile {
 public:
  static constexpr int64_t kBytes = 64 << 10;

  // `columns`: the number of cells that a row should have.
  RowTile(char delimiter, int64_t columns) : delimiter_(delimiter), columns_(columns) {}

  // Finds the rows that lie as a whole in the first kBytes of `text`, or the first row where it is
  // longer. `quoted`: cells may be quoted; else quotes are text. Returns: false if `text`, which is
  // not empty, holds no whole row. REQUIRES: `text` begins with a row, lives as long as its tile is
  // used and has kTextPadding + `columns` readable bytes behind it; size < 2^31.
  bool find(const char* text, int64_t size, bool quoted);

  // Rows of one cell without text are blank lines, see is_blank().
  int64_t rows() const { return row_count_; }
  int64_t first_cell(int64_t row) const { return row == 0 ? 0 : last_cells_[row - 1] + 1; }
  int64_t cells(int64_t row) const { return last_cells_[row] + 1 - first_cell(row); }
  // The text of a row, between begin(row) and end(row).
  int64_t begin(int64_t row) const { return place(first_cell(row) - 1) + 1; }
  int64_t end(int64_t row) const { return place(last_cells_[row]); }
  // The text of a cell. The last cell of a row may be followed by a carriage return outside the
  // cell.
  absl::string_view cell(int64_t cell) const {
    const int64_t begin = place(cell - 1) + 1;
    return {text_ + begin, static_cast<size_t>(place(cell) - begin)};
  }
  // True if the row is a line that holds nothing but carriage returns.
  bool is_blank(int64_t row) const {
    return cells(row) == 1 && !is_copied_ && is_carriage_returns(cell(first_cell(row)));
  }
  // Line feeds of the source between the begin of the tile and the row.
  int64_t line(int64_t row) const { return is_copied_ ? lines_[row] : row; }

  // The source that the tile covers, which the next one follows.
  int64_t source_bytes() const { return source_bytes_; }
  int64_t source_lines() const { return source_lines_; }

  int64_t quoted_cells() const { return quoted_cells_; }
  int64_t fault_count() const { return static_cast<int64_t>(faults_.size()); }
  // Returns the faults of one row, in the order of cells.
  absl::Span<const QuoteFault> faults_of(int64_t row) const {
    if (faults_.empty()) return {};
    return find_faults(row);
  }

  // The first of `columns` empty cells, for rows that are bad.
  uint32_t no_cells() const { return no_cells_; }
  // The ends of cells, as CellTile has them.
  const uint32_t* ends() const { return places_.data() + 1; }
  const char* text() const { return text_; }

 private:
  class Copy;

  absl::Span<const QuoteFault> find_faults(int64_t row) const;
  static bool is_carriage_returns(absl::string_view text);
  int64_t place(int64_t cell) const { return static_cast<int32_t>(places_[cell + 1]); }
  // Each finds rows in text[0, size). Returns: the number of cells.
  int64_t find_plain(const char* text, int64_t size);
  int64_t find_quoted(const char* text, int64_t size);

  const char delimiter_;
  const int64_t columns_;
  const IndexCells index_cells_ = index_cells(best_instruction_set());
  const IndexMarks index_marks_ = index_marks(best_instruction_set());
  const char* text_ = nullptr;
  bool is_copied_ = false;
  int64_t row_count_ = 0;
  int64_t source_bytes_ = 0;
  int64_t source_lines_ = 0;
  int64_t quoted_cells_ = 0;
  uint32_t no_cells_ = 0;
  std::vector<uint32_t> places_;      // of the ends of cells, behind that of the place before them
  std::vector<uint32_t> last_cells_;  // of each row
  std::vector<uint32_t> lines_;       // of each row, if is_copied_
  std::vector<QuoteFault> faults_;    // in the order of cells

  // Of a tile with quotes.
  std::vector<uint32_t> marks_;
  std::vector<char> copy_;
};

}  // namespace millrace

#endif  // MILLRACE_IO_FORMAT_ROW_TILE_H_
