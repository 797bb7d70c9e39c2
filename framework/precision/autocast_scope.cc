#include "framework/precision/autocast_scope.h"

#include <ATen/autocast_mode.h>

namespace millrace {
namespace {

at::ScalarType type_of(PrecisionConfig::Compute compute) {
  return compute == PrecisionConfig::FLOAT16 ? at::kHalf : at::kBFloat16;
}

}  // namespace

AutocastScope::AutocastScope(PrecisionConfig::Compute compute)
    : former_enabled_(at::autocast::is_autocast_enabled(at::kCPU)),
      former_type_(at::autocast::get_autocast_dtype(at::kCPU)) {
  const bool enable = compute != PrecisionConfig::FLOAT32;
  at::autocast::set_autocast_enabled(at::kCPU, enable);
  if (enable) at::autocast::set_autocast_dtype(at::kCPU, type_of(compute));
  at::autocast::increment_nesting();
}

AutocastScope::~AutocastScope() {
  // As at the end of torch.autocast: converted parameters are those before the next update.
  if (at::autocast::decrement_nesting() == 0) at::autocast::clear_cache();
  at::autocast::set_autocast_enabled(at::kCPU, former_enabled_);
  at::autocast::set_autocast_dtype(at::kCPU, former_type_);
}

}  // namespace millrace
