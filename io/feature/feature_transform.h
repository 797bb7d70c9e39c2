// Transforms of a feature: makes its values in a batch from a column of a file.
#ifndef MILLRACE_IO_FEATURE_FEATURE_TRANSFORM_H_
#define MILLRACE_IO_FEATURE_FEATURE_TRANSFORM_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
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
#include "io/transform/feature_input.h"
#include "io/transform/missing_values.h"
#include "io/transform/transform.h"
#include "proto/config.pb.h"

namespace millrace {

// The transforms of one feature, checked against the type of its column and applied in the order of
// the configuration; each is a class of io/transform/. The result must be integers for sparse
// features and ids, numbers for other features. A default replaces the result: no transform is
// applied to it. missing_values is applied to the column before anything else, so that not-a-number
// is no bad data where it is missing. Immutable; thread-safe.
//
// A column of numbers may hold integers in one file and doubles in another: a transform created for
// one type of number accepts all types of numbers. Where the transforms, or the feature without
// one, need integers, a double becomes the integer that equals it, as by the transform `cast`.
//
// Adds bad rows to FeatureInput::bad. A bad row also gets a value, so that all columns keep the
// same length. A row is also bad if a registered transform gives a number that is not finite.
// Results of a registered transform that do not belong to the rows (too many values, say, or
// decreasing offsets) are an error, Internal, naming feature and transform.
class FeatureTransform {
 public:
  // `labels`: the valid labels. `files` hold vocabularies.
  // Errors: InvalidArgument naming feature and column where the types do not fit or a
  // parameter is out of range; errors of Vocabulary::load.
  static absl::StatusOr<FeatureTransform> create(const FeatureConfig& feature, ValueType column,
                                                 LabelRange labels, FileSystem& files);

  // Returns the numbers that tell where `feature` has no value before its default and its
  // transforms, missing_values apart: 1 there, else 0. Reads the column as the feature does.
  // Errors: as create().
  static absl::StatusOr<FeatureTransform> create_is_missing(const FeatureConfig& feature,
                                                            ValueType column);

  // Returns the type as which the column must be read. For kText: the type that the first transform
  // (without one, the feature) takes, and text if missing_values compares cells as text. Else the
  // type of the column.
  ValueType reads_as() const { return reads_as_; }

  // Returns Transform::distinguishes_text() of the first transform except missing_values; false
  // without one.
  bool distinguishes_text() const { return distinguishes_text_; }

  // Appends the rows as lists of ids. Bad rows: NaN; more or fewer weights than ids; weights that
  // are not finite; a number with a fraction, or of 2^53 or more, where integers are needed; there
  // also a number of Column::exact_integers or more.
  absl::Status append_ids(const FeatureInput& input, IdColumn* out) const;

  // Appends exactly one id for each row. Bad rows: no id and no default; several ids; NaN.
  absl::Status append_single_ids(const FeatureInput& input, std::vector<int64_t>* out) const;

  // Appends exactly one number for each row.
  // Bad rows: as in append_single_ids; a value that is not finite or beyond float32; a label
  // outside its range; an example weight below 0. A label that may be missing (FeatureConfig.MASK)
  // is not-a-number where it has no value or is not-a-number in the column; its row is not bad.
  absl::Status append_numbers(const FeatureInput& input, std::vector<float>* out) const;

 private:
  struct Step {
    std::shared_ptr<Transform> transform;  // shared with copies of this; constant after create()
    absl::string_view name;                // of the kind, as the configuration writes it
    // Names feature and transform in errors about the results of a registered transform. Empty for
    // a built-in kind, whose results are right.
    std::string checked_as;
    bool gives_text = false;     // its result is the text of the column
    bool must_give_ids = false;  // the next transform, or the feature, takes integers
  };
  using Steps = std::vector<Step>;

  FeatureTransform() = default;
  // create() without Transform::prepare().
  static absl::StatusOr<FeatureTransform> fit(const FeatureConfig& feature, ValueType column,
                                              LabelRange labels);
  // Makes the transforms but missing_values, without their types.
  absl::StatusOr<Steps> create_steps(const FeatureConfig& feature);
  // Sets reads_as_ and missing_values_. Returns the type of the values that `steps` begin with.
  absl::StatusOr<ValueType> set_reads_as(const FeatureConfig& feature, ValueType column,
                                         const Steps& steps);
  // Checks that each transform accepts the result of the previous transform, for values of type
  // `type`, and the feature accepts the last result. Completes the steps.
  absl::Status check_steps(const FeatureConfig& feature, ValueType type, Steps& steps) const;
  // Chooses what to read and whether doubles are cast, and checks the steps.
  absl::Status fit_to_column(const FeatureConfig& feature, ValueType column, Steps& steps);
  absl::Status check_default() const;
  // `missing`, if given, gets the places of numbers that are not-a-number, and is no error then; 0
  // is transformed in their place.
  absl::StatusOr<FeatureValues> run(const FeatureInput& input,
                                    std::vector<size_t>* missing = nullptr) const;
  // The same without missing_values.
  absl::StatusOr<FeatureValues> run_steps(const FeatureInput& input,
                                          std::vector<size_t>* missing) const;
  // Checks the result of a registered transform for the rows of a column. Errors: Internal.
  static absl::Status check_form(const Step& step, const Column& column,
                                 const FeatureValues& values);
  // Applies `steps` to `values`. `missing` as in run().
  static absl::Status apply_steps(absl::Span<const Step> steps, const FeatureInput& input,
                                  absl::Span<const size_t> missing, FeatureValues* values);
  absl::Status take_weights(const FeatureInput& input, IdColumn* list) const;
  absl::Status append_number(const FeatureInput& input, int64_t row, int64_t count, double value,
                             float* out) const;

  bool wants_ids_ = false;
  bool distinguishes_text_ = false;
  LabelRange range_ = LabelRange::kAny;  // of labels and example weights
  bool is_weight_ = false;
  bool masks_ = false;  // whether a missing number is not-a-number: the default is
  bool has_default_ = false;
  int64_t default_id_ = 0;
  double default_number_ = 0;
  ValueType reads_as_ = ValueType::kInt64;
  std::optional<MissingValues> missing_values_;
  Steps steps_;
  size_t leading_casts_ = 0;  // steps that change nothing in a column of integers
  // Makes integers of doubles before the steps; null: the steps take doubles. Shared with copies of
  // this; constant after create().
  std::shared_ptr<Transform> cast_;
};

// Returns the name of the column that a feature is made from: its `column`, or its own name.
const std::string& column_of(const FeatureConfig& feature);

}  // namespace millrace

#endif  // MILLRACE_IO_FEATURE_FEATURE_TRANSFORM_H_
