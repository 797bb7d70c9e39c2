// Forward passes in a reduced precision.
#ifndef MILLRACE_FRAMEWORK_PRECISION_AUTOCAST_SCOPE_H_
#define MILLRACE_FRAMEWORK_PRECISION_AUTOCAST_SCOPE_H_

#include <c10/core/DeviceType.h>
#include <c10/core/ScalarType.h>

#include "proto/config.pb.h"

namespace millrace {

// Enables LibTorch's autocast for a type of device on this thread during its lifetime: matrix
// products are computed in `compute`, with float32 parameters and inputs converted to it. Converted
// parameters are cached until the scope ends. With FLOAT32, autocast is disabled inside the scope,
// even if enabled outside. The destructor restores the previous state.
//
//   {
//     const AutocastScope autocast(PrecisionConfig::BFLOAT16, model.device().type());
//     output = model.forward(batch);
//   }
//   output.loss.backward();   // outside
class AutocastScope {
 public:
  explicit AutocastScope(PrecisionConfig::Compute compute, at::DeviceType device = at::kCPU);
  ~AutocastScope();
  AutocastScope(const AutocastScope&) = delete;
  AutocastScope& operator=(const AutocastScope&) = delete;

 private:
  const at::DeviceType device_;
  const bool former_enabled_;
  const c10::ScalarType former_type_;
};

}  // namespace millrace

#endif  // MILLRACE_FRAMEWORK_PRECISION_AUTOCAST_SCOPE_H_
