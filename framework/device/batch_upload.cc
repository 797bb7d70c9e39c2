#include "framework/device/batch_upload.h"

#include <ATen/ATen.h>
#include <c10/core/StreamGuard.h>
#include <c10/core/impl/VirtualGuardImpl.h>

#include "framework/device/on_device.h"

namespace millrace {

c10::Stream copy_stream(at::Device device) {
  return c10::impl::VirtualGuardImpl(device.type()).getStreamFromGlobalPool(device);
}

BatchUpload::BatchUpload(absl::Span<const Batch> batches, const c10::Stream& stream)
    : device_(stream.device()), copied_(std::make_unique<c10::Event>(stream.device_type())) {
  const c10::StreamGuard guard(stream);
  batches_.reserve(batches.size());
  for (const Batch& batch : batches) batches_.push_back(on_device(batch, device_));
  copied_->record(stream);
}

absl::Span<const Batch> BatchUpload::batches() const {
  if (copied_ == nullptr) return {};
  const c10::Stream current = c10::impl::VirtualGuardImpl(device_.type()).getStream(device_);
  copied_->block(current);
  for (const Batch& batch : batches_) {
    // The stream of the copies owns the memory, and must not reuse it before the current stream has
    // read it.
    for (const at::Tensor& tensor : {batch.dense, batch.labels, batch.weights}) {
      if (tensor.defined()) tensor.record_stream(current);
    }
  }
  return batches_;
}

}  // namespace millrace
