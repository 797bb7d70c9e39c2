// From a column of a file to what a feature of a batch is made of.
#ifndef MILLRACE_IO_FEATURE_TRANSFORM_H_
#define MILLRACE_IO_FEATURE_TRANSFORM_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "base/file_system.h"
#include "io/bad_rows.h"
#include "io/block.h"
#include "io/column.h"
#include "io/label_range.h"
#include "io/vocabulary.h"
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

// What a feature is made from: the rows of one unit. Borrowed.
struct FeatureInput {
  const Column& column;
  ColumnPlace place;
  BadRows& bad;                     // those that are bad already are not looked at
  const Column* weights = nullptr;  // of FeatureConfig.weight_column
  // For each `cross` its other feature, whose last rows are those of the unit.
  absl::Span<const IdColumn* const> crossed = {};
  Column* owned = nullptr;  // `column`, if nobody else needs it: its content may be moved out
};

// The configuration of one feature, checked against the type of its column, ready to run.
// Values flow through the transforms as they are written: text or integers into `hash`,
// `multi_hash` and `vocabulary`, integers into `modulo`, `cross`, `truncate` and `unique`, numbers
// (integers too) into the others; `log1p`, `clip` and `threshold` give numbers, the others
// integers. `cast` leaves integers as they are. Sparse features and ids must end as integers, the others as numbers. Defaults stand for
// the result: no transform is applied to them. Each step runs over the whole column, in place where
// it keeps the number of values. Immutable; thread-safe.
//
// What is wrong with a row goes to FeatureInput::bad; a row that is bad gets some value all the
// same, so that columns stay of one length.
class FeatureTransform {
 public:
  // `labels`: what a label must be. `files` hold vocabularies.
  // Errors: InvalidArgument naming feature and column where the types do not fit or a
  // parameter is out of range; those of Vocabulary.
  static absl::StatusOr<FeatureTransform> create(const FeatureConfig& feature, ValueType column,
                                                 LabelRange labels, FileSystem& files);

  // What the column is to be read as: its type, or for delimited text what the first transform
  // (without one, the feature) needs.
  ValueType reads_as() const { return reads_as_; }

  // Appends the rows as lists of ids. Bad: NaN; weights of another number than ids, or not finite;
  // a number that `cast` does not make an integer.
  absl::Status append_ids(const FeatureInput& input, IdColumn* out) const;

  // Appends exactly one id for each row. Bad: a row with none and no default, or with several; NaN.
  absl::Status append_single_ids(const FeatureInput& input, std::vector<int64_t>* out) const;

  // Appends exactly one number for each row.
  // Bad: as append_single_ids; a value that is not finite or beyond float32; a label outside
  // its range.
  absl::Status append_numbers(const FeatureInput& input, std::vector<float>* out) const;

 private:
  // The values of all rows on their way: numbers, end to end, or else ids. Offsets and weights are
  // those of `list`.
  struct Values {
    bool are_ids = false;
    IdColumn list;
    std::vector<double> numbers;
  };

  FeatureTransform() = default;
  absl::Status check_types(const FeatureConfig& feature, ValueType column);
  absl::Status load_vocabularies(FileSystem& files);
  absl::StatusOr<Values> run(const FeatureInput& input) const;
  absl::Status take_weights(const FeatureInput& input, IdColumn* list) const;
  // Removes the casts with which a column of integers begins: nothing is left for them to do.
  void drop_idle_casts();
  absl::Status apply_cast(const FeatureInput& input, Values* values) const;
  // Applies any other step. REQUIRES: the step is no `cast`.
  void apply(size_t step, const FeatureInput& input, Values* values) const;
  void apply_vocabulary(size_t step, const FeatureInput& input, Values* values) const;
  absl::Status append_number(const FeatureInput& input, int64_t row, int64_t count, double value,
                             float* out) const;

  bool wants_ids_ = false;
  LabelRange labels_ = LabelRange::kAny;  // kAny for other kinds of feature
  bool has_default_ = false;
  int64_t default_id_ = 0;
  double default_number_ = 0;
  ValueType reads_as_ = ValueType::kInt64;
  std::vector<TransformConfig> steps_;
  // For each step; shared with copies of this. Null for steps other than `vocabulary`.
  std::vector<std::shared_ptr<const Vocabulary>> vocabularies_;
  std::vector<size_t> cross_number_;  // for each step: how many `cross` stand before it
};

// The column a feature is made from: its `column`, or its name.
const std::string& column_of(const FeatureConfig& feature);

}  // namespace millrace

#endif  // MILLRACE_IO_FEATURE_TRANSFORM_H_
