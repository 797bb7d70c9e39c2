#include "embedding/max_ids_check.h"

#include "absl/strings/str_cat.h"
#include "proto/field_check.h"

namespace millrace {

absl::Status check_max_ids(absl::string_view where, int64_t max_ids) {
  if (max_ids >= 0) return absl::OkStatus();
  return wrong(where, absl::StrCat("max_ids is ", max_ids, ", below 0"));
}

}  // namespace millrace
