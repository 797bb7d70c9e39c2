// Features of rows from their columns.
#ifndef MILLRACE_IO_FEATURE_FEATURE_ROWS_H_
#define MILLRACE_IO_FEATURE_FEATURE_ROWS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "io/bad_rows.h"
#include "io/block.h"
#include "io/column.h"
#include "io/feature/feature_transform.h"
#include "io/transform/feature_input.h"
#include "proto/config.pb.h"

namespace millrace {

// A feature and the indices of the columns that it is made from.
struct FeatureSource {
  std::string name;
  FeatureConfig::Kind kind;
  int64_t column = -1;                                       // -1: there is none
  std::optional<FeatureTransform> transform = std::nullopt;  // none: the same
  int64_t weight_column = -1;                                // -1: its ids have no weights
  std::vector<int64_t> crossed = {};                         // sparse features, for each `cross`
  bool takes_column = false;                                 // no later feature needs it
};

// Appends `rows` rows of all features to `block`, which has a column for each feature. `features`:
// in the order of the FeatureSchema. A label without a column is not-a-number; other features
// without a column are omitted. `column_name`: the name of a column, for errors, which `place`
// precedes. May move columns out.
// Errors: any error of FeatureTransform; of a registered transform also Internal.
absl::Status append_features(absl::Span<const FeatureSource> features, absl::Span<Column> columns,
                             absl::FunctionRef<absl::string_view(int64_t column)> column_name,
                             int64_t rows, ColumnPlace place, BadRows& bad, Block* block);

}  // namespace millrace

#endif  // MILLRACE_IO_FEATURE_FEATURE_ROWS_H_
