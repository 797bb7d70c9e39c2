// The filter for the rows of a part of a source, and the rules of its configuration.
#ifndef MILLRACE_IO_FEATURE_SPLIT_FILTER_H_
#define MILLRACE_IO_FEATURE_SPLIT_FILTER_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "io/column.h"
#include "io/feature/feature_transform.h"
#include "proto/config.pb.h"
#include "proto/split_bounds.h"

namespace millrace {

// A row belongs to the part if its position lies in [from, to) (proto/split_bounds.h). Positions by
// hash are divided by 2^64. They are, with 8 little-endian bytes for each number, the XXH3 of
//   * the row, from 0 in its file; the seed is the XXH3 of the file's name without its directory
//     (rule FILE_NAME);
//   * the file's number << 40 | the row (rule FILE_NUMBER, of jobs of earlier versions);
//   * the values of a column (text or numbers; the hash of each value is the seed of the next).
// A double equal to an integer below 2^53 is hashed as the integer, so a value has the same
// position in files of either type. So the parts [0, 0.9) and [0.9, 1) share no example and omit
// none.
//
// The position by ORDER_OF_COLUMN is the value. Of a date YYYY-MM-DD in delimited text or in the
// name of a directory it is the number YYYYMMDD, of a month YYYY-MM it is YYYYMM. True and False
// are 1 and 0 there. Dates need a bound that is a date, with any month and day.
//
// Immutable; thread-safe.
class SplitFilter {
 public:
  // `column`: the type of split.column, if one is given. `rule`: of HASH_OF_EXAMPLE.
  // Errors: as check_split; InvalidArgument for a column without an order.
  static absl::StatusOr<SplitFilter> create(const SplitConfig& split, ValueType column,
                                            TrainConfig::SplitRule rule = TrainConfig::FILE_NAME);

  bool takes_all() const { return takes_all_; }
  // Returns the type to read delimited text as: with ORDER_OF_COLUMN numbers, or text if a bound is
  // a date.
  ValueType reads_as() const { return reads_as_; }

  // Appends 1 for each row of the part and 0 for the others. `row_numbers`: file number << 40 |
  // row, of one file. `column` is not read unless the configuration names one. `place` names the
  // file. Bad rows: for ORDER_OF_COLUMN, rows without exactly one finite value, and dates with more
  // or fewer digits than a bound that is a date. Errors: as `bad`.
  absl::Status append(absl::Span<const int64_t> row_numbers, const Column& column,
                      const ColumnPlace& place, BadRows& bad, std::vector<uint8_t>* keep) const;

 private:
  // A text and its position, which a valid text has.
  struct TextPosition {
    absl::string_view text;
    double position = 0;
    bool is_valid = false;
  };

  explicit SplitFilter(SplitConfig split);
  // `seed`: of the hash of the row's number. `last`: the text of the row before, since dates and
  // partitions repeat; is replaced.
  absl::StatusOr<double> position(int64_t row_number, uint64_t seed, const Column& column,
                                  int64_t row, const ColumnPlace& place, TextPosition* last) const;
  // Finds the position of a cell of delimited text or of the name of a directory. Returns true if
  // the text has a position.
  bool find_position(absl::string_view text, double* position) const;
  // Returns a bound that is a date with another number of digits.
  std::optional<int64_t> other_bound(absl::string_view date) const;
  // Says why a text has no position.
  std::string complaint(absl::string_view text) const;

  SplitConfig split_;
  SplitBounds bounds_;
  std::vector<int64_t> bound_dates_;  // bounds that are dates
  bool takes_all_ = false;
  TrainConfig::SplitRule rule_ = TrainConfig::FILE_NAME;
  ValueType reads_as_ = ValueType::kInt64;
};

// Checks a split without the type of its column. `where` is the place of `split` in the
// configuration and begins every message.
// Errors: InvalidArgument if `from` is not below or equal to `to`, a bound of HASH_* is not in
// [0, 1], ORDER_OF_COLUMN has no bound, or a column is missing or superfluous.
absl::Status check_split(absl::string_view where, const SplitConfig& split);

}  // namespace millrace

#endif  // MILLRACE_IO_FEATURE_SPLIT_FILTER_H_
