#include "framework/device/on_device.h"

#include <ATen/ATen.h>

namespace millrace {

at::Tensor on_device(const at::Tensor& tensor, at::Device device) {
  if (tensor.device() == device) return tensor;
  // Copies of memory that is not pinned would block the host.
  const bool pins = device.is_cuda() && tensor.numel() > 0;
  return (pins ? tensor.pin_memory() : tensor).to(device, /*non_blocking=*/true);
}

Batch on_device(const Batch& batch, at::Device device) {
  Batch moved = batch;
  for (at::Tensor* tensor : {&moved.dense, &moved.labels, &moved.weights}) {
    if (tensor->defined()) *tensor = on_device(*tensor, device);
  }
  return moved;
}

}  // namespace millrace
