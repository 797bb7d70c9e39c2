// Columns as files hold them, in memory, without any library's types.
#ifndef MILLRACE_IO_COLUMN_H_
#define MILLRACE_IO_COLUMN_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "io/exact_integer.h"

namespace millrace {

enum class ValueType {
  kInt64,   // integers of any width, booleans, dates and times (in their own unit)
  kUint64,  // unsigned 64-bit integers: kept as their 64 bits
  kDouble,  // float32, float64
  kString,  // text and bytes
  kText,    // cells of delimited text, which become whichever of the above they are asked for
};

// "integers", "text", ... for messages.
absl::string_view describe(ValueType type);

// Returns true for integers and doubles: the types that a column of numbers may have in turn.
bool is_number(ValueType type);

// Many short texts in one piece of memory.
class StringValues {
 public:
  int64_t size() const { return static_cast<int64_t>(ends_.size()); }
  absl::string_view operator[](int64_t i) const {
    const int64_t begin = i == 0 ? 0 : ends_[i - 1];
    return absl::string_view(bytes_).substr(begin, ends_[i] - begin);
  }
  void reserve(int64_t texts, int64_t bytes) {
    ends_.reserve(texts);
    bytes_.reserve(bytes);
  }
  void push_back(absl::string_view text) {
    bytes_.append(text.data(), text.size());
    ends_.push_back(static_cast<int64_t>(bytes_.size()));
  }
  // Keeps the first `texts` texts. REQUIRES: texts <= size().
  void resize(int64_t texts) {
    ends_.resize(texts);
    bytes_.resize(texts == 0 ? 0 : ends_.back());
  }
  int64_t bytes() const { return static_cast<int64_t>(bytes_.size()); }  // of all texts

 private:
  std::string bytes_;
  std::vector<int64_t> ends_;
};

// The values of some rows of one column. A row holds any number of them: a plain column has one
// or, where it is null, none; nulls inside a list are left out. So "missing" is always "no value".
struct Column {
  ValueType type = ValueType::kInt64;
  int64_t rows = 0;
  // Row r holds values offsets[r] to, not including, offsets[r + 1]; rows + 1 entries from 0.
  // Empty: every row holds exactly one.
  std::vector<int64_t> offsets;
  // Of doubles: every smaller integer is stored exactly by the file. 2^53 for float64, 2^24 for
  // float32, 2^11 for float16.
  double exact_integers = kExactIntegers;
  // The values, in one of the three by type; kUint64 uses int64s.
  std::vector<int64_t> int64s;
  std::vector<double> doubles;
  StringValues strings;

  int64_t begin(int64_t row) const { return offsets.empty() ? row : offsets[row]; }
  int64_t end(int64_t row) const { return offsets.empty() ? row + 1 : offsets[row + 1]; }
  // Returns the bytes of the values and offsets.
  int64_t bytes() const;
  int64_t values() const { return offsets.empty() ? rows : offsets[rows]; }
};

// Fills in the offsets if they are omitted, so that every row has an explicit number of values.
void make_jagged(Column& column);

// Appends rows without a value.
void append_empty_rows(int64_t count, Column* column);

// Omits the offsets if every row has one value. REQUIRES: rows + 1 offsets exist.
void simplify_offsets(Column& column);

}  // namespace millrace

#endif  // MILLRACE_IO_COLUMN_H_
