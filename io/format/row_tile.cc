#include "io/format/row_tile.h"

#include <algorithm>
#include <cstring>

namespace millrace {
namespace {

constexpr size_t kFaultBytes = 40;

// No room is given back: most tiles have one size.
template <typename T>
void grow(int64_t size, std::vector<T>* values) {
  if (static_cast<int64_t>(values->size()) < size) values->resize(size);
}

// Copies `size` bytes, of which most are few. Up to kTextPadding bytes behind both may be touched.
inline void copy_bytes(const char* from, int64_t size, char* to) {
  static_assert(kTextPadding >= 32);
  if (size <= 32) {
    std::memcpy(to, from, 32);
  } else {
    std::memcpy(to, from, size);
  }
}

}  // namespace

bool RowTile::is_carriage_returns(absl::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) { return c == '\r'; });
}

absl::Span<const QuoteFault> RowTile::find_faults(int64_t row) const {
  const auto is_before = [](const QuoteFault& fault, int64_t cell) { return fault.cell < cell; };
  const auto begin = std::lower_bound(faults_.begin(), faults_.end(), first_cell(row), is_before);
  const auto end = std::lower_bound(begin, faults_.end(), last_cells_[row] + 1, is_before);
  return absl::MakeConstSpan(faults_).subspan(begin - faults_.begin(), end - begin);
}

bool RowTile::find(const char* text, int64_t size, bool quoted) {
  int64_t cell_count = 0;
  for (int64_t bytes = std::min(size, kBytes);; bytes = std::min(size, 2 * bytes)) {
    grow(bytes + columns_ + 16, &places_);
    places_[0] = ~uint32_t{0};  // the place before the first cell
    faults_.clear();
    quoted_cells_ = 0;
    is_copied_ = quoted && std::memchr(text, '"', bytes) != nullptr;
    cell_count = is_copied_ ? find_quoted(text, bytes) : find_plain(text, bytes);
    if (source_bytes_ > 0 || bytes == size) break;
  }
  no_cells_ = static_cast<uint32_t>(cell_count) + 1;
  for (int64_t i = 0; i <= columns_; ++i) {
    places_[no_cells_ + i] = static_cast<uint32_t>(i);
  }
  return source_bytes_ > 0;
}

int64_t RowTile::find_plain(const char* text, int64_t size) {
  grow(size, &last_cells_);
  const CellCounts counts =
      index_cells_(text, size, delimiter_, places_.data() + 1, last_cells_.data());
  text_ = text;
  row_count_ = source_lines_ = counts.lines;
  source_bytes_ = counts.lines == 0 ? 0 : end(counts.lines - 1) + 1;
  return counts.cells;
}

// Copies rows without their quotes. What was copied of the source ends at from_; the copy grows at
// to_ and is never longer than the source, since a carriage return is added only where two quotes
// were removed.
class RowTile::Copy {
 public:
  Copy(RowTile& tile, const char* text, int64_t mark_count)
      : tile_(tile),
        text_(text),
        mark_count_(mark_count),
        to_(tile.copy_.data()),
        end_(tile.places_.data() + 1) {}

  // Stops behind the last whole row. Returns: the number of cells.
  int64_t run() {
    while (mark_ < mark_count_) {
      const int64_t place = tile_.marks_[mark_];
      const char byte = text_[place];
      if (byte == '"') {
        ++mark_;
        if (place == cell_begin_ && !copy_quoted_cell(place)) break;
        continue;
      }
      ++mark_;
      cell_begin_ = place + 1;
      *end_++ = static_cast<uint32_t>(to_ - tile_.copy_.data() + (place - from_));
      if (byte == '\n') end_row(place);
    }
    finish();
    return whole_cells_;
  }

 private:
  int64_t cell_count() const { return end_ - (tile_.places_.data() + 1); }

  void copy_until(int64_t place) {
    copy_bytes(text_ + from_, place - from_, to_);
    to_ += place - from_;
    from_ = place;
  }

  // Copies the cell whose opening quote is at `place` and stops before the mark that ends it.
  // Returns: false if the text ends within the cell.
  bool copy_quoted_cell(int64_t place) {
    copy_until(place);
    char* const cell = to_;
    from_ = place + 1;
    if (!copy_content()) return false;
    int64_t next = mark_;
    while (next < mark_count_ && text_[tile_.marks_[next]] == '"') ++next;
    if (next == mark_count_) return false;
    mark_ = next;
    is_quoted_row_ = true;
    ++tile_.quoted_cells_;
    const int64_t end = tile_.marks_[next];
    const bool is_last = text_[end] == '\n';
    if (end > from_) {
      const absl::string_view rest(text_ + from_, end - from_);
      if (!is_last || !is_carriage_returns(rest)) {
        tile_.faults_.push_back(
            {static_cast<uint32_t>(cell_count()), line_, std::string(rest.substr(0, kFaultBytes))});
        to_ = cell;
      }
    }
    // Unlike a carriage return at the end of a row, this carriage return belongs to the last cell.
    if (is_last && to_ > cell && to_[-1] == '\r') *to_++ = '\r';
    from_ = end;
    return true;
  }

  // Copies up to the closing quote, behind which from_ then is. Returns: false if there is none.
  bool copy_content() {
    while (mark_ < mark_count_) {
      const int64_t place = tile_.marks_[mark_++];
      if (text_[place] == '\n') ++line_;
      if (text_[place] != '"') continue;
      const bool is_pair =
          mark_ < mark_count_ && tile_.marks_[mark_] == place + 1 && text_[place + 1] == '"';
      copy_until(is_pair ? place + 1 : place);
      ++from_;
      if (!is_pair) return true;
      ++mark_;
    }
    return false;
  }

  // `place`: of its line feed.
  void end_row(int64_t place) {
    ++line_;
    const bool is_blank =
        !is_quoted_row_ && cell_count() == whole_cells_ + 1 &&
        is_carriage_returns({text_ + row_begin_, static_cast<size_t>(place - row_begin_)});
    if (is_blank) {
      --end_;
      copy_until(row_begin_);
      from_ = place + 1;
    } else {
      if (rows_ == static_cast<int64_t>(tile_.lines_.size())) {
        tile_.lines_.resize(2 * rows_ + 1024);
        grow(2 * rows_ + 1024, &tile_.last_cells_);
      }
      tile_.lines_[rows_] = static_cast<uint32_t>(row_line_);
      tile_.last_cells_[rows_++] = static_cast<uint32_t>(cell_count()) - 1;
    }
    whole_cells_ = cell_count();
    whole_quoted_cells_ = tile_.quoted_cells_;
    row_line_ = line_;
    row_begin_ = place + 1;
    is_quoted_row_ = false;
  }

  // Forgets the row that has no end.
  void finish() {
    if (from_ < row_begin_) copy_until(row_begin_);
    while (!tile_.faults_.empty() && tile_.faults_.back().cell >= whole_cells_) {
      tile_.faults_.pop_back();
    }
    tile_.quoted_cells_ = whole_quoted_cells_;
    tile_.row_count_ = rows_;
    tile_.source_bytes_ = row_begin_;
    tile_.source_lines_ = row_line_;
  }

  RowTile& tile_;
  const char* const text_;
  const int64_t mark_count_;
  int64_t mark_ = 0;
  int64_t from_ = 0;
  char* to_;
  uint32_t* end_;           // of the next cell
  int64_t cell_begin_ = 0;  // in the source
  int64_t line_ = 0;

  // The row being copied.
  int64_t row_begin_ = 0;
  int64_t row_line_ = 0;
  bool is_quoted_row_ = false;

  // The rows before the row being copied.
  int64_t rows_ = 0;
  int64_t whole_cells_ = 0;
  int64_t whole_quoted_cells_ = 0;
};

int64_t RowTile::find_quoted(const char* text, int64_t size) {
  grow(size + 8, &marks_);
  grow(size + columns_ + 2 * kTextPadding, &copy_);
  text_ = copy_.data();
  return Copy(*this, text, index_marks_(text, size, delimiter_, marks_.data())).run();
}

}  // namespace millrace
