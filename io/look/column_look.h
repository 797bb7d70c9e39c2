// Statistics of one column of a sample.
#ifndef MILLRACE_IO_LOOK_COLUMN_LOOK_H_
#define MILLRACE_IO_LOOK_COLUMN_LOOK_H_

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "io/column.h"
#include "io/file_reader.h"
#include "io/look/cell_text.h"

namespace millrace {

// The content of a column, independent of the format.
enum class ValueKind {
  kInteger,
  kNumber,
  kText,
  kUnreadable,  // of a type that no reader reads, such as a struct
};

// "integer", "number", "text" or "unreadable".
absl::string_view name_of(ValueKind kind);

// Statistics of a column. Shares are in [0, 1]; statistics of numbers are 0 without numbers.
struct ColumnLook {
  std::string name;
  std::string
      type_name;  // as the format calls it; of several files, "int64 in 3 files, double in 1"
  ValueKind kind = ValueKind::kUnreadable;
  bool is_delimited_text = false;  // the kind was found by parsing the cells
  bool is_boolean = false;         // the cells are booleans (io/text_values.h), kind kInteger
  // The name, or a cell of delimited text, begins or ends with a blank. Numbers are read without.
  bool has_blanks = false;
  // Dates YYYYMMDD, in a partition or a column that has several or a name of a time; or text of
  // dates YYYY-MM-DD, which a time of the day may follow.
  bool holds_dates = false;
  bool is_mixed = false;      // integers in some files, numbers in others
  bool is_partition = false;  // the values are in the paths of the files
  // Another column than the label that has the value of the label in each of at least 100 rows, in
  // which both classes occur.
  bool equals_label = false;
  // Reason for which another column gives the label away (LabelTie::reason), else "".
  std::string label_tie;
  bool is_second_label = false;  // LabelTie::is_nested of such a column
  int64_t rows = 0;              // of the sample
  // Null, an empty list, an empty cell, or nothing but not-a-number and missing_texts.
  int64_t missing_rows = 0;
  int64_t values = 0;    // without these; a list counts as many as it holds
  int64_t distinct = 0;  // different values in the sample
  // Different values in all rows, estimated from the sample; `distinct` if the sample is all rows.
  double estimated_distinct = 0;
  double top_share = 0;      // of the most frequent value among all values
  double top_ten_share = 0;  // of the ten most frequent values
  int64_t max_length = 0;    // values in the longest list
  double mean_length = 0;    // values per row that has any
  // Numbers of cells of delimited text that are is_missing_text() without the blanks around them,
  // or blanks alone, by their text. Empty if other cells are text, of which "NA" may be one like
  // others; whole numbers are no such text.
  std::map<std::string, int64_t> missing_texts;
  // A cell such as "1,5" if the column is text for its decimal commas alone, else empty.
  std::string decimal_comma;
  // A cell such as "9223372036854775808" if the column is text because its cells are whole numbers
  // of which some do not fit int64, as ids may be; else empty.
  std::string long_integer;
  // Number of cells that are no numbers if the column is text for them and nine in ten cells are
  // numbers, at least; else 0. Columns with codes such as "007" have none.
  int64_t odd_cells = 0;
  std::vector<std::string> odd_texts;  // up to three different ones of them
  // A cell such as "12.3%", "1,234.5" or "1 234" if the column is text for its percent signs or its
  // commas or blanks between thousands alone, else empty.
  std::string near_number;
  // The begin of a cell such as "470|1|2|3" if the column is delimited text whose cells are lists
  // of whole numbers, or one; else empty. A column of near_number has none.
  std::string list_cell;
  char list_delimiter = 0;  // between these numbers, see list_delimiter_of()
  int64_t list_ids = 0;     // different numbers of the lists in the sample
  // The characters of "|; " that occur in cells of delimited text. Empty for numbers.
  std::string delimiters;
  // True in evaluation data if none of at least 100 values of the sample is in the training sample.
  bool has_new_values_only = false;

  // Numbers and integers.
  double min = 0;
  double mean = 0;
  double standard_deviation = 0;  // of the sample itself: the mean square is divided by its size
  double max = 0;
  bool is_whole = false;          // every number is an integer, but for not-a-number
  int64_t most_frequent = 0;      // integer; 0 if the most frequent value is a boolean
  int64_t not_finite = 0;         // numbers that are infinite or not a number; left out above
  int64_t not_a_number = 0;       // of these, not-a-number; not counted in `values`
  std::vector<double> quantiles;  // at equal steps from the least to the greatest value

  double missing_share() const;
  // The value below which a share of `p` lies. REQUIRES: 0 <= p <= 1. Returns 0 without numbers.
  double quantile(double p) const;
};

// Returns `3 of 6000, such as "oops", "?"`, of odd_cells. Escapes what is not UTF-8.
std::string odd_cells_text(const ColumnLook& look);

// Estimates the number of different values among `all` values from a sample of `sampled`, which has
// `distinct` different ones, `once` of them exactly once: the estimator Duj1 of Haas and Stokes,
// "Estimating the number of classes in a finite population", 1998, as PostgreSQL uses it. Never
// less than `distinct` nor more than `all`.
double estimate_distinct(double sampled, double all, double distinct, double once);

// Computes a ColumnLook from the values of a column, piece by piece. Memory grows with the number
// of different values. Not thread-safe.
class ColumnSampler {
 public:
  explicit ColumnSampler(const FileColumn& column);

  // The type to read the column as where a file has it as kText.
  ValueType read_type() const;
  // Adds rows. Mixes a hash of each row's values into row_hashes[row]; integers and the doubles
  // that equal them have one hash.
  // REQUIRES: values of read_type() or, for numbers, of any type of number; one hash per row.
  void add(const Column& column, absl::Span<uint64_t> row_hashes);
  // Returns the statistics; `total_rows` is the number of rows that the sample is drawn from.
  ColumnLook finish(int64_t total_rows) const;
  // Returns true if both have values and no value of one is a value of the other.
  bool is_disjoint(const ColumnSampler& other) const;

 private:
  // Adds one value. Returns its hash. Sets *is_missing if it is not-a-number or one of
  // ColumnLook::missing_texts.
  uint64_t add_value(const Column& column, int64_t i, bool* is_missing);
  uint64_t add_integer(int64_t value, ValueType type = ValueType::kInt64);
  uint64_t add_number(double value);
  // `cell`: the text, or of delimited text what is between blanks.
  uint64_t add_text(absl::string_view text, absl::string_view cell);
  void add_to_moments(double value);
  // Decides whether the column has decimal commas, from a cell that is not missing.
  void find_decimal_comma(absl::string_view text);
  // Decides whether the column has whole numbers beyond int64, from such a cell. REQUIRES: the
  // cells before were whole numbers.
  void find_long_integer(absl::string_view text);
  // Decides whether the column has lists in its cells, from a cell that is no number of 64 bits.
  void find_list(absl::string_view text);
  // Decides what cells of delimited text hold.
  void set_kind_of_cells(ColumnLook& look) const;
  void count_frequencies(int64_t total_rows, ColumnLook& look) const;

  ColumnLook look_;
  ValueType type_;
  bool all_integers_ = true;
  bool all_digits_ = true;  // of delimited text: every cell is a whole number, of any size
  bool all_whole_ = true;   // of delimited text: every number is an integer, such as "7.0"
  bool all_numbers_ = true;
  int64_t booleans_ = 0;  // cells of delimited text
  absl::flat_hash_set<uint64_t> boolean_hashes_;
  bool may_hold_dates_ = true;            // every value is a date
  bool may_have_decimal_commas_ = false;  // every cell is an integer or has a decimal comma
  bool may_hold_lists_ = true;            // every cell is a list or a whole number
  absl::flat_hash_set<uint64_t> list_ids_;
  // Counts of values that may denote missing values, which counts_ omits.
  std::map<std::string, int64_t> missing_texts_;
  OddCells odd_;  // of delimited text
  int64_t missing_values_ = 0;
  int64_t rows_of_missing_values_ = 0;  // with no other value
  int64_t finite_ = 0;
  double sum_ = 0;
  // The state of Welford's recurrence: the mean so far, and the sum of squared distances from the
  // mean.
  double running_mean_ = 0;
  double squares_ = 0;
  absl::flat_hash_map<uint64_t, int64_t> counts_;  // by hash of the value
  // Every stride_-th number, at most kKept of them.
  std::vector<double> kept_;
  int64_t stride_ = 1;
};

}  // namespace millrace

#endif  // MILLRACE_IO_LOOK_COLUMN_LOOK_H_
