#include "checkpoint/folder/retention_check.h"

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "proto/field_check.h"

namespace millrace {

absl::Status check_retention(absl::string_view where, const CheckpointConfig& config) {
  RETURN_IF_ERROR(at_least(where, "keep_last", config.keep_last(), 1));
  RETURN_IF_ERROR(at_least(where, "keep_every", config.keep_every(), 0));
  RETURN_IF_ERROR(at_least(where, "full_last", config.full_last(), 0));
  for (const CheckpointConfig::Best& best : config.keep_best()) {
    RETURN_IF_ERROR(at_least(absl::StrCat(where, ".keep_best \"", best.metric(), "\""), "count",
                             best.count(), 1));
  }
  return absl::OkStatus();
}

}  // namespace millrace
