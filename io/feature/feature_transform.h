// Transforms of a feature: makes its values in a batch from a column of a file.
#ifndef MILLRACE_IO_FEATURE_FEATURE_TRANSFORM_H_
#define MILLRACE_IO_FEATURE_FEATURE_TRANSFORM_H_

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
#include "io/feature/label_range.h"
#include "io/transform/vocabulary.h"
#include "proto/config.pb.h"

namespace millrace {

// The place of rows, for error messages.
struct ColumnPlace {
  absl::string_view path;
  absl::string_view column;
  int64_t first_row = 0;  // of these rows in the file, counted from 0

  // "FILE, row 17, column c1: <what>".
  absl::Status error(int64_t row, absl::string_view what) const;  // DataLoss
};

// The input of a feature: the rows of one unit. All is borrowed.
struct FeatureInput {
  const Column& column;
  ColumnPlace place;
  BadRows& bad;                     // rows that are bad already are skipped
  const Column* weights = nullptr;  // of FeatureConfig.weight_column
  // The other feature of each `cross`. Its last rows are the rows of the unit.
  absl::Span<const IdColumn* const> crossed = {};
  Column* owned = nullptr;  // `column`, if its content may be moved out
};

// The transforms of one feature, checked against the type of its column. They are applied in the
// order of the configuration: `hash`, `multi_hash` and `vocabulary` take text or integers;
// `modulo`, `cross`, `truncate` and `unique` take integers; the others take numbers (also
// integers). `log1p`, `clip` and `threshold` give numbers, the others integers. `cast` does not
// change integers. The result must be integers for sparse features and ids, numbers for other
// features. A default replaces the result: no transform is applied to it. Each step runs over the
// whole column, in place if it keeps the number of values. Immutable; thread-safe.
//
// Adds bad rows to FeatureInput::bad. A bad row also gets a value, so that all columns keep the
// same length.
class FeatureTransform {
 public:
  // `labels`: the valid labels. `files` hold vocabularies.
  // Errors: InvalidArgument naming feature and column where the types do not fit or a
  // parameter is out of range; errors of Vocabulary::load.
  static absl::StatusOr<FeatureTransform> create(const FeatureConfig& feature, ValueType column,
                                                 LabelRange labels, FileSystem& files);

  // Returns the type as which the column must be read: for delimited text the type that the first
  // transform (without one, the feature) takes, else the type of the column.
  ValueType reads_as() const { return reads_as_; }

  // Appends the rows as lists of ids. Bad rows: NaN; more or fewer weights than ids; weights that
  // are not finite; a number that `cast` cannot make an integer.
  absl::Status append_ids(const FeatureInput& input, IdColumn* out) const;

  // Appends exactly one id for each row. Bad rows: no id and no default; several ids; NaN.
  absl::Status append_single_ids(const FeatureInput& input, std::vector<int64_t>* out) const;

  // Appends exactly one number for each row.
  // Bad rows: as in append_single_ids; a value that is not finite or beyond float32; a label
  // outside its range.
  absl::Status append_numbers(const FeatureInput& input, std::vector<float>* out) const;

 private:
  // The values of all rows between two steps: numbers, one after the other, or ids in `list`. The
  // offsets and weights in `list` belong to both.
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
  // Removes the casts at the beginning of the steps of a column of integers: they change nothing.
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
  std::vector<size_t> cross_number_;  // for each step: the number of `cross` steps before it
};

// Returns the name of the column that a feature is made from: its `column`, or its own name.
const std::string& column_of(const FeatureConfig& feature);

}  // namespace millrace

#endif  // MILLRACE_IO_FEATURE_FEATURE_TRANSFORM_H_
