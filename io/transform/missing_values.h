// Values that are missing in a column, and the transform that marks them.
#ifndef MILLRACE_IO_TRANSFORM_MISSING_VALUES_H_
#define MILLRACE_IO_TRANSFORM_MISSING_VALUES_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "io/column.h"
#include "io/transform/feature_input.h"
#include "io/transform/transform.h"
#include "proto/config.pb.h"

namespace millrace {

// Makes one integer of each row, without a weight: 1 if the row has no value, else 0. Takes values
// of any type and does not read them.
std::unique_ptr<Transform> make_is_missing_transform();

// Removes values that stand for "missing" from a column before the first Transform, so that a row
// without other values has no value. A list loses these values alone, and their weights. Cells of
// delimited text that are to become numbers are compared as text first and parsed here.
//
// A number of the configuration equals a value of a column of numbers that is the same float64 or
// the float32 nearest to it, so that 999.9 is found in columns of float32, too; a value of a column
// of integers only if it is that integer. Immutable; thread-safe.
//
//   ASSIGN_OR_RETURN(const auto missing, MissingValues::create(config, options));
//   ASSIGN_OR_RETURN(const MissingValues::Kept kept, missing.apply(input));
class MissingValues {
 public:
  struct Options {
    // The type of the column in the file.
    ValueType column = ValueType::kInt64;
    // The type of the values after the replacement. Differs from the type of the column if the
    // column is kText.
    ValueType gives = ValueType::kInt64;
    // If true, blanks around a text do not count and a text of blanks is missing.
    bool ignores_blanks = false;
  };

  // The values that are left.
  struct Kept {
    Column column;   // of the type `gives`
    Column weights;  // of the weights' type; without rows if FeatureInput::weights is null
  };

  // REQUIRES: check_transform() accepts `config`, unless the column is delimited text, where it may
  // also be empty. Errors: InvalidArgument if no field of `config` is about values of the column's
  // type, and for `number` if the values are text.
  static absl::StatusOr<MissingValues> create(const MissingValuesTransform& config,
                                              Options options);

  // Returns the type as which the column must be read: text if cells of delimited text are compared
  // as text, else the type that is given.
  ValueType reads_as() const { return reads_as_; }

  // Removes missing values of the rows. `input.owned`, if given, may be moved out. A weight of a
  // missing value is not checked. Adds bad rows to `input.bad`: cells that cannot become the
  // required type of number; in rows that have values, more or fewer weights than values, missing
  // ones included. Bad rows have one weight per value, too.
  // REQUIRES: the column has the type reads_as(), or both are types of numbers. Errors: DataLoss
  // for a bad row that may not be left out.
  absl::StatusOr<Kept> apply(const FeatureInput& input) const;

 private:
  MissingValues(const MissingValuesTransform& config, Options options);

  absl::string_view stripped(absl::string_view text) const;
  // Each clears the flags of missing values.
  void find_texts(const StringValues& texts, absl::Span<uint8_t> flags) const;
  void find_numbers(const Column& column, absl::Span<uint8_t> flags) const;
  // Makes numbers of the texts with a flag, and 0 of the others.
  absl::StatusOr<Column> parse(const FeatureInput& input, absl::Span<const uint8_t> flags) const;

  Options options_;
  ValueType reads_as_;
  std::vector<std::string> texts_;
  bool nan_;                                // whether not-a-number is missing
  std::vector<double> numbers_;             // of columns of numbers
  std::vector<int64_t> integers_;           // of columns of integers
  std::vector<int64_t> unsigned_integers_;  // of columns of unsigned integers: their 64 bits
};

}  // namespace millrace

#endif  // MILLRACE_IO_TRANSFORM_MISSING_VALUES_H_
