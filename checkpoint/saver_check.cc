#include "checkpoint/saver_check.h"

#include <string>

#include "base/status_macros.h"
#include "checkpoint/folder/retention_check.h"
#include "checkpoint/format/manifest.h"
#include "proto/field_check.h"

namespace millrace {

absl::Status check_saver(absl::string_view where, const CheckpointConfig& config) {
  RETURN_IF_ERROR(check_retention(where, config));
  RETURN_IF_ERROR(within(where, "max_deltas", config.max_deltas(), 0, kMaxDeltaDepth));
  for (const std::string& pattern : config.exclude()) {
    if (pattern.empty()) return wrong(where, "exclude has an empty pattern");
  }
  return within(where, "write_threads", config.write_threads(), 1, 256);
}

}  // namespace millrace
