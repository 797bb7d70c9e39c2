#include "io/format/cell_parser.h"

#include <cstring>
#include <optional>
#include <utility>

#include "absl/base/attributes.h"
#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "io/exact_integer.h"
#include "io/format/text_numbers.h"
#include "io/text_values.h"

namespace millrace {
namespace {

constexpr char kCast[] = "; the transform cast makes integers of numbers such as 7.0";

inline absl::string_view cell_at(const CellTile& tile, int64_t row, int64_t cell, bool is_last) {
  const uint32_t index = tile.first_cells[row] + static_cast<uint32_t>(cell);
  const uint32_t begin = tile.ends[static_cast<int64_t>(index) - 1] + 1;
  uint32_t end = tile.ends[index];
  if (is_last && end > begin && tile.text[end - 1] == '\r') --end;
  return {tile.text + begin, end - begin};
}

// Parses the usual case, up to eight digits, without a branch on an empty cell. Returns false for
// all other cells, also without digits; `value` is then undefined.
inline bool fast_int64(absl::string_view cell, int64_t* value) {
  if (cell.size() > 8) return parse_int64(cell.data(), static_cast<int64_t>(cell.size()), value);
  const uint64_t bytes = load_digits(cell.data(), static_cast<int64_t>(cell.size()));
  *value = static_cast<int64_t>(digits_value(bytes));
  return are_digits(bytes);
}

inline bool fast_hexadecimal(absl::string_view cell, int64_t* value) {
  uint64_t bits = 0;
  const bool good =
      cell.size() <= 8
          ? hexadecimal_value(load_digits(cell.data(), static_cast<int64_t>(cell.size())), &bits)
          : parse_hexadecimal(cell.data(), static_cast<int64_t>(cell.size()), &bits);
  *value = static_cast<int64_t>(bits);
  return good;
}

inline bool fast_double(absl::string_view cell, double* value) {
  if (cell.size() > 8) return parse_double(cell.data(), static_cast<int64_t>(cell.size()), value);
  const uint64_t bytes = load_digits(cell.data(), static_cast<int64_t>(cell.size()));
  *value = static_cast<double>(digits_value(bytes));
  return are_digits(bytes);
}

// Booleans are looked for last and out of line, so that numbers cost no more for them.
template <typename T>
ABSL_ATTRIBUTE_NOINLINE ABSL_ATTRIBUTE_COLD bool parse_as_boolean(absl::string_view cell,
                                                                  T* value) {
  const std::optional<bool> boolean = parse_boolean(cell);
  if (boolean.has_value()) *value = *boolean ? 1 : 0;
  return boolean.has_value();
}

bool slow_int64(absl::string_view cell, int64_t* value) {
  return parse_int64(cell.data(), static_cast<int64_t>(cell.size()), value) ||
         parse_as_boolean(cell, value);
}

bool slow_hexadecimal(absl::string_view cell, int64_t* value) {
  uint64_t bits = 0;
  const bool good = parse_hexadecimal(cell.data(), static_cast<int64_t>(cell.size()), &bits);
  *value = static_cast<int64_t>(bits);
  return good;
}

bool slow_double(absl::string_view cell, double* value) {
  return parse_double(cell.data(), static_cast<int64_t>(cell.size()), value) ||
         parse_as_boolean(cell, value);
}

// "7.0", say.
bool is_integer_as_number(absl::string_view cell, ValueType type, bool hexadecimal) {
  double value = 0;
  return type != ValueType::kDouble && !hexadecimal && slow_double(cell, &value) &&
         is_exact_integer(value);
}

// Returns "; ..." that names csv.list_delimiter for a cell that looks like a list; else "".
std::string list_hint(absl::string_view cell, const CellFormat& format) {
  const char delimiter =
      format.is_typed || format.list_delimiter != 0 ? 0 : list_delimiter_of(cell);
  if (delimiter == 0) return "";
  return absl::StrCat("; if it is a list, set csv { list_delimiter: \"",
                      absl::string_view(&delimiter, 1), "\" }");
}

std::string complaint(absl::string_view cell, ValueType type, const CellFormat& format) {
  return absl::StrCat("\"", absl::CEscape(cell.substr(0, 40)), "\" is not ",
                      format.hexadecimal           ? "a hexadecimal number of up to 64 bits"
                      : type == ValueType::kDouble ? "a number"
                                                   : "an integer",
                      is_integer_as_number(cell, type, format.hexadecimal) ? kCast : "",
                      list_hint(cell, format));
}

}  // namespace

CellParser::CellParser(ValueType as, CellFormat format, int64_t rows) : format_(format) {
  column_.type = as;
  column_.rows = rows;
  column_.offsets.resize(rows + 1);
  if (format.list_delimiter != 0) return;
  // One more: a value is written before it is known whether the cell has one.
  if (as == ValueType::kDouble) {
    column_.doubles.resize(rows + 1);
  } else if (as != ValueType::kString) {
    column_.int64s.resize(rows + 1);
  }
}

template <typename T, typename Fast, typename Slow>
absl::Status CellParser::append_numbers(const CellTile& tile, int64_t cell, const OnBadCell& on_bad,
                                        std::vector<T>* values, Fast fast, Slow slow) {
  T* const out = values->data();
  int64_t* const offsets = column_.offsets.data() + row_ + 1;
  const bool is_last = format_.is_last;
  int64_t count = values_;
  for (int64_t row = 0; row < tile.rows(); ++row) {
    absl::string_view text = cell_at(tile, row, cell, is_last);
    T value;
    if (!fast(text, &value)) {
      text = absl::StripAsciiWhitespace(text);
      if (!text.empty() && !slow(text, &value)) {
        RETURN_IF_ERROR(on_bad(row, complaint(text, column_.type, format_)));
        text = "";
      }
    }
    out[count] = value;
    count += text.empty() ? 0 : 1;
    offsets[row] = count;
  }
  values_ = count;
  return absl::OkStatus();
}

void CellParser::append_texts(const CellTile& tile, int64_t cell) {
  if (row_ == 0) column_.strings.reserve(column_.rows, 8 * column_.rows);
  for (int64_t row = 0; row < tile.rows(); ++row) {
    const absl::string_view text = cell_at(tile, row, cell, format_.is_last);
    if (!text.empty()) {
      column_.strings.push_back(text);
      ++values_;
    }
    column_.offsets[row_ + row + 1] = values_;
  }
}

// Returns false if the text is no value of the column's type.
bool CellParser::append_piece(absl::string_view piece) {
  if (column_.type == ValueType::kString) {
    column_.strings.push_back(piece);
    return true;
  }
  if (column_.type == ValueType::kDouble) {
    double value = 0;
    const bool good = slow_double(piece, &value);
    column_.doubles.push_back(value);
    return good;
  }
  int64_t value = 0;
  const bool good =
      format_.hexadecimal ? slow_hexadecimal(piece, &value) : slow_int64(piece, &value);
  column_.int64s.push_back(value);
  return good;
}

absl::Status CellParser::append_lists(const CellTile& tile, int64_t cell, const OnBadCell& on_bad) {
  const bool is_text = column_.type == ValueType::kString;
  for (int64_t row = 0; row < tile.rows(); ++row) {
    const absl::string_view text = cell_at(tile, row, cell, format_.is_last);
    for (size_t begin = 0; begin < text.size();) {
      const size_t end = std::min(text.find(format_.list_delimiter, begin), text.size());
      absl::string_view piece = text.substr(begin, end - begin);
      begin = end + 1;
      if (!is_text) piece = absl::StripAsciiWhitespace(piece);
      if (piece.empty()) continue;
      if (!append_piece(piece)) {
        RETURN_IF_ERROR(on_bad(row, complaint(piece, column_.type, format_)));
      }
      ++values_;
    }
    column_.offsets[row_ + row + 1] = values_;
  }
  return absl::OkStatus();
}

absl::Status CellParser::append(const CellTile& tile, int64_t cell, const OnBadCell& on_bad) {
  absl::Status status;
  if (format_.list_delimiter != 0) {
    status = append_lists(tile, cell, on_bad);
  } else if (column_.type == ValueType::kString) {
    append_texts(tile, cell);
  } else if (column_.type == ValueType::kDouble) {
    status = append_numbers(
        tile, cell, on_bad, &column_.doubles,
        [](auto text, auto* value) { return fast_double(text, value); }, slow_double);
  } else if (format_.hexadecimal) {
    status = append_numbers(
        tile, cell, on_bad, &column_.int64s,
        [](auto text, auto* value) { return fast_hexadecimal(text, value); }, slow_hexadecimal);
  } else {
    status = append_numbers(
        tile, cell, on_bad, &column_.int64s,
        [](auto text, auto* value) { return fast_int64(text, value); }, slow_int64);
  }
  row_ += tile.rows();
  return status;
}

Column CellParser::finish() {
  if (format_.list_delimiter == 0) {
    if (column_.type == ValueType::kDouble) column_.doubles.resize(values_);
    if (!column_.int64s.empty()) column_.int64s.resize(values_);
  }
  bool one_each = values_ == column_.rows;
  for (int64_t row = 0; one_each && row < column_.rows; ++row) {
    one_each = column_.offsets[row + 1] == row + 1;
  }
  if (one_each) column_.offsets.clear();
  return std::move(column_);
}

}  // namespace millrace
