#include "io/feature/split_check.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "proto/field_check.h"
#include "proto/split_bounds.h"

namespace millrace {

absl::Status check_split(absl::string_view where, const SplitConfig& split) {
  const bool by_order = split.by() == SplitConfig::ORDER_OF_COLUMN;
  const bool needs_column = split.by() != SplitConfig::HASH_OF_EXAMPLE;
  if (needs_column == split.column().empty()) {
    return wrong(where, absl::StrCat("by ", SplitConfig::By_Name(split.by()),
                                     needs_column ? " needs a column" : " takes no column"));
  }
  if (by_order && !split.has_from() && !split.has_to()) {
    return wrong(where, "by ORDER_OF_COLUMN needs a bound; give from, to or both");
  }
  const SplitBounds bounds = split_bounds(split);
  const std::string range = absl::StrCat("from ", bounds.from, " to ", bounds.to);
  if (!(bounds.from <= bounds.to)) {
    return wrong(where, absl::StrCat(range, "; from must not be above to"));
  }
  if (!by_order && (bounds.from < 0 || bounds.to > 1)) {
    return wrong(where, absl::StrCat(range, "; both must be 0 to 1"));
  }
  return absl::OkStatus();
}

}  // namespace millrace
