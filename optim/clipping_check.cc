#include "optim/clipping_check.h"

#include "base/status_macros.h"
#include "proto/field_check.h"
#include "proto/range_check.h"

namespace millrace {

absl::Status check_clipping(absl::string_view where, const ClippingConfig& config) {
  RETURN_IF_ERROR(check_ranges(where, config));
  if (config.limit_case() != ClippingConfig::LIMIT_NOT_SET) return absl::OkStatus();
  return wrong(where, "no limit, so that nothing is clipped; give max_norm or max_value");
}

}  // namespace millrace
