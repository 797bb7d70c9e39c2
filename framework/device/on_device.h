// Batches on the device of a model.
#ifndef MILLRACE_FRAMEWORK_DEVICE_ON_DEVICE_H_
#define MILLRACE_FRAMEWORK_DEVICE_ON_DEVICE_H_

#include <c10/core/Device.h>

#include "io/batch.h"

namespace millrace {

// Returns the batch as Model::device() says: `dense`, `labels` and `weights` on `device`, all else
// shared with `batch`. On the CPU: the batch itself. For a CUDA device the copies pass through
// pinned memory and are only begun: they are ordered behind what its current stream was given, and
// before what it is given later. Throws c10::Error if the device cannot be used.
Batch on_device(const Batch& batch, at::Device device);

}  // namespace millrace

#endif  // MILLRACE_FRAMEWORK_DEVICE_ON_DEVICE_H_
