#include "io/transform/feature_input.h"

#include <string>

#include "absl/strings/str_cat.h"

namespace millrace {

absl::Status ColumnPlace::error(int64_t row, absl::string_view what) const {
  const std::string number = lines.empty() ? absl::StrCat("row ", first_row + row)
                                           : absl::StrCat(line_name, " ", lines[row]);
  return absl::DataLossError(absl::StrCat(path, ", ", number, ", column ", column, ": ", what));
}

}  // namespace millrace
