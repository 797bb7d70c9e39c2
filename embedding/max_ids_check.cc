#include "embedding/max_ids_check.h"

#include "absl/strings/str_cat.h"
#include "proto/field_check.h"

namespace millrace {
namespace {

// The maximum number of columns of a row. A feature with FIRST_N then has at most 2^24 columns.
constexpr int64_t kMostSideBySide = 4096;

}  // namespace

absl::Status check_max_ids(absl::string_view where, Pooling pooling, int64_t max_ids) {
  if (max_ids < 0) return wrong(where, absl::StrCat("max_ids is ", max_ids, ", below 0"));
  if (pooling != FIRST_N || (max_ids > 0 && max_ids <= kMostSideBySide)) return absl::OkStatus();
  return wrong(where, absl::StrCat("max_ids is ", max_ids,
                                   "; with pooling FIRST_N it is the number of rows side by side "
                                   "and must be 1 to ",
                                   kMostSideBySide));
}

}  // namespace millrace
