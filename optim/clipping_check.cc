#include "optim/clipping_check.h"

#include "proto/field_check.h"

namespace millrace {

absl::Status check_clipping(absl::string_view where, const ClippingConfig& config) {
  switch (config.limit_case()) {
    case ClippingConfig::kMaxNorm: return positive(where, "max_norm", config.max_norm());
    case ClippingConfig::kMaxValue: return positive(where, "max_value", config.max_value());
    case ClippingConfig::LIMIT_NOT_SET: break;
  }
  return wrong(where, "no limit, so that nothing is clipped; give max_norm or max_value");
}

}  // namespace millrace
