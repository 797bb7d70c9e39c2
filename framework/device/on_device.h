// Tensors and batches on the device of a model.
#ifndef MILLRACE_FRAMEWORK_DEVICE_ON_DEVICE_H_
#define MILLRACE_FRAMEWORK_DEVICE_ON_DEVICE_H_

#include <c10/core/Device.h>

#include "io/batch.h"

namespace millrace {

// Returns the tensor on `device`; the tensor itself if already there. For a CUDA device the host
// does not wait for the copy, which uses pinned memory and runs on the current stream of the
// device, before later work on the stream. Throws c10::Error if the device cannot be used.
at::Tensor on_device(const at::Tensor& tensor, at::Device device);

// Returns the batch in the form that Model::device() describes: `dense`, `labels` and `weights` on
// `device`, as above, everything else shared with `batch`. On the CPU: the batch itself.
Batch on_device(const Batch& batch, at::Device device);

}  // namespace millrace

#endif  // MILLRACE_FRAMEWORK_DEVICE_ON_DEVICE_H_
