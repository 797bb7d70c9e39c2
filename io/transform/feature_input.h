// The rows from which a feature is made.
#ifndef MILLRACE_IO_TRANSFORM_FEATURE_INPUT_H_
#define MILLRACE_IO_TRANSFORM_FEATURE_INPUT_H_

#include <cstdint>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "io/bad_rows.h"
#include "io/block.h"
#include "io/column.h"

namespace millrace {

// The place of rows, for error messages.
struct ColumnPlace {
  absl::string_view path;
  absl::string_view column;
  int64_t first_row = 0;  // of these rows in the file, counted from 0
  // FileReader::row_lines() of these rows; may be empty.
  absl::Span<const int64_t> lines = {};
  absl::string_view line_name = "line";  // FileReader::line_name()

  // "FILE, line 19, column c1: <what>", or "FILE, row 17, ..." without lines.
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

}  // namespace millrace

#endif  // MILLRACE_IO_TRANSFORM_FEATURE_INPUT_H_
