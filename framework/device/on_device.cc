#include "framework/device/on_device.h"

#include <ATen/ATen.h>

namespace millrace {

Batch on_device(const Batch& batch, at::Device device) {
  Batch moved = batch;
  for (at::Tensor* tensor : {&moved.dense, &moved.labels, &moved.weights}) {
    if (!tensor->defined() || tensor->device() == device) continue;
    // The host waits for copies of memory that is not pinned.
    if (device.is_cuda() && tensor->numel() > 0) *tensor = tensor->pin_memory();
    *tensor = tensor->to(device, /*non_blocking=*/true);
  }
  return moved;
}

}  // namespace millrace
