#include "framework/precision/autocast_scope.h"

#include <ATen/autocast_mode.h>

namespace millrace {
namespace {

at::ScalarType type_of(PrecisionConfig::Compute compute) {
  return compute == PrecisionConfig::FLOAT16 ? at::kHalf : at::kBFloat16;
}

}  // namespace

AutocastScope::AutocastScope(PrecisionConfig::Compute compute, at::DeviceType device)
    : device_(device),
      former_enabled_(at::autocast::is_autocast_enabled(device_)),
      former_type_(at::autocast::get_autocast_dtype(device_)) {
  const bool enable = compute != PrecisionConfig::FLOAT32;
  at::autocast::set_autocast_enabled(device_, enable);
  if (enable) at::autocast::set_autocast_dtype(device_, type_of(compute));
  at::autocast::increment_nesting();
}

AutocastScope::~AutocastScope() {
  // Clears the cache like torch.autocast: converted parameters would be outdated after the next
  // update.
  if (at::autocast::decrement_nesting() == 0) at::autocast::clear_cache();
  at::autocast::set_autocast_enabled(device_, former_enabled_);
  at::autocast::set_autocast_dtype(device_, former_type_);
}

}  // namespace millrace
