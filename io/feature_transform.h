// From a column of a file to what a feature of a batch is made of.
#ifndef MILLRACE_IO_FEATURE_TRANSFORM_H_
#define MILLRACE_IO_FEATURE_TRANSFORM_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "io/block.h"
#include "io/column.h"
#include "proto/config.pb.h"

namespace millrace {

// Where rows come from, for messages.
struct ColumnPlace {
  absl::string_view path;
  absl::string_view column;
  int64_t first_row = 0;  // of these rows in the file, counted from 0

  // "FILE, row 17, column c1: <what>".
  absl::Status error(int64_t row, absl::string_view what) const;  // DataLoss
};

// The configuration of one feature, checked against the type of its column, ready to run.
// Values flow through the transforms as they are written: text or integers into `hash`, integers
// into `modulo`, numbers (integers too) into the others; `hash`, `modulo` and `bucketize` give
// integers, the others numbers. Sparse features and ids must end as integers, the others as
// numbers. Defaults stand for the result: no transform is applied to them. Immutable; thread-safe.
class FeatureTransform {
 public:
  // `binary_labels`: whether a label must be 0 or 1.
  // Errors: InvalidArgument naming feature and column where the types do not fit or a
  // parameter is out of range.
  static absl::StatusOr<FeatureTransform> create(const FeatureConfig& feature, ValueType column,
                                                 bool binary_labels);

  // What the column is to be read as: its type, or for delimited text what the first transform
  // (without one, the feature) needs.
  ValueType reads_as() const { return reads_as_; }

  // Appends the column's rows as lists of ids. Errors: DataLoss for NaN.
  absl::Status append_ids(const Column& column, const ColumnPlace& place, IdColumn* out) const;

  // Appends exactly one id for each row.
  // Errors: DataLoss for a row with none and no default, or with several; NaN.
  absl::Status append_single_ids(const Column& column, const ColumnPlace& place,
                                 std::vector<int64_t>* out) const;

  // Appends exactly one number for each row.
  // Errors: as append_single_ids; a value that is not finite or beyond float32; a label that is
  // neither 0 nor 1 where it must be.
  absl::Status append_numbers(const Column& column, const ColumnPlace& place,
                              std::vector<float>* out) const;

 private:
  // Either of the two holds the values of all rows, end to end.
  struct Values {
    bool are_ids = false;
    std::vector<int64_t> ids;
    std::vector<double> numbers;
  };

  FeatureTransform() = default;
  absl::Status check_types(const FeatureConfig& feature, ValueType column);
  absl::StatusOr<Values> run(const Column& column, const ColumnPlace& place) const;
  static void apply(const TransformConfig& step, const Column& column, Values* values);
  absl::Status to_float(const ColumnPlace& place, int64_t row, double value, float* out) const;

  bool wants_ids_ = false;
  bool binary_ = false;
  bool has_default_ = false;
  int64_t default_id_ = 0;
  double default_number_ = 0;
  ValueType reads_as_ = ValueType::kInt64;
  std::vector<TransformConfig> steps_;
};

// The column a feature is made from: its `column`, or its name.
const std::string& column_of(const FeatureConfig& feature);

}  // namespace millrace

#endif  // MILLRACE_IO_FEATURE_TRANSFORM_H_
