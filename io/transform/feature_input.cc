#include "io/transform/feature_input.h"

#include "absl/strings/str_cat.h"

namespace millrace {

absl::Status ColumnPlace::error(int64_t row, absl::string_view what) const {
  return absl::DataLossError(
      absl::StrCat(path, ", row ", first_row + row, ", column ", column, ": ", what));
}

}  // namespace millrace
