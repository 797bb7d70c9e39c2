#include "checkpoint/folder/retention_check.h"

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "proto/range_check.h"

namespace millrace {

absl::Status check_retention(absl::string_view where, const CheckpointConfig& config) {
  RETURN_IF_ERROR(check_own_ranges(where, config));
  for (const CheckpointConfig::Best& best : config.keep_best()) {
    RETURN_IF_ERROR(check_ranges(absl::StrCat(where, ".keep_best \"", best.metric(), "\""), best));
  }
  return absl::OkStatus();
}

}  // namespace millrace
