// Which rows belong to a part of a source.
#ifndef MILLRACE_IO_FEATURE_SPLIT_FILTER_H_
#define MILLRACE_IO_FEATURE_SPLIT_FILTER_H_

#include <cstdint>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "io/column.h"
#include "io/feature/feature_transform.h"
#include "proto/config.pb.h"
#include "proto/split_bounds.h"

namespace millrace {

// A row belongs to the part if its position lies in [from, to) (proto/split_bounds.h). Positions by
// hash are XXH3 of the row's number (file ordinal << 40 | row, 8 little-endian bytes) or of the
// values of a column (text, or 8 bytes each; the hash of each value is the seed of the next),
// divided by 2^64. A double that equals an integer below 2^53 is hashed as this integer, so that a
// value has one position in files of either type. So the parts [0, 0.9) and [0.9, 1) share no
// example and leave none out.
//
// The position by ORDER_OF_COLUMN is the value. Of a date YYYY-MM-DD in delimited text or in the
// name of a directory it is the number YYYYMMDD, of a month YYYY-MM it is YYYYMM.
//
// Immutable; thread-safe.
class SplitFilter {
 public:
  // `column`: the type of split.column, if one is given.
  // Errors: those of check_split; InvalidArgument for a column without an order.
  static absl::StatusOr<SplitFilter> create(const SplitConfig& split, ValueType column);

  bool takes_all() const { return takes_all_; }
  // What delimited text is to be read as.
  ValueType reads_as() const { return reads_as_; }

  // Appends 1 for each row of the part and 0 for the others. `column` is not looked at unless
  // the configuration names one. Bad rows: for ORDER_OF_COLUMN, those that do not have exactly one
  // finite value. Errors: those of `bad`.
  absl::Status append(absl::Span<const int64_t> row_numbers, const Column& column,
                      const ColumnPlace& place, BadRows& bad, std::vector<uint8_t>* keep) const;

 private:
  explicit SplitFilter(SplitConfig split)
      : split_(std::move(split)), bounds_(split_bounds(split_)) {}
  absl::StatusOr<double> position(int64_t row_number, const Column& column, int64_t row,
                                  const ColumnPlace& place) const;

  SplitConfig split_;
  SplitBounds bounds_;
  bool takes_all_ = false;
  ValueType reads_as_ = ValueType::kInt64;
};

}  // namespace millrace

#endif  // MILLRACE_IO_FEATURE_SPLIT_FILTER_H_
