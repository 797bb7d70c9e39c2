#include "proto/split_check.h"

#include <limits>
#include <string>

#include "absl/strings/str_cat.h"
#include "proto/field_check.h"

namespace millrace {

SplitBounds split_bounds(const SplitConfig& split) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  SplitBounds bounds;
  if (split.by() == SplitConfig::ORDER_OF_COLUMN) bounds = {-kInfinity, kInfinity};
  if (split.has_from()) bounds.from = split.from();
  if (split.has_to()) bounds.to = split.to();
  return bounds;
}

bool takes_all(const SplitConfig& split) {
  if (split.by() == SplitConfig::ORDER_OF_COLUMN) return false;
  const SplitBounds bounds = split_bounds(split);
  return bounds.from == 0 && bounds.to == 1;
}

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
