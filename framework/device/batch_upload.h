// Copies of micro-batches to a device.
#ifndef MILLRACE_FRAMEWORK_DEVICE_BATCH_UPLOAD_H_
#define MILLRACE_FRAMEWORK_DEVICE_BATCH_UPLOAD_H_

#include <c10/core/Event.h>
#include <c10/core/Stream.h>

#include <memory>
#include <vector>

#include "absl/types/span.h"
#include "io/batch.h"

namespace millrace {

// Returns a stream of a CUDA device for copies in parallel with the device's current stream. Throws
// c10::Error if the device cannot be used.
c10::Stream copy_stream(at::Device device);

// Copies the micro-batches of a step during the computation of the previous step. Used on one
// thread.
//
//   BatchUpload next(data.micro_batches, copy_stream(model.device()));
//   ... compute the step before ...
//   model.forward(next.batches()[0]);
class BatchUpload {
 public:
  // Creates an upload without batches.
  BatchUpload() = default;
  // Begins to copy `batches`, as on_device() does, on `stream`.
  BatchUpload(absl::Span<const Batch> batches, const c10::Stream& stream);

  // Returns the batches on the device. Later work on the current stream of that device waits for
  // the copies; the host does not.
  absl::Span<const Batch> batches() const;

 private:
  std::vector<Batch> batches_;
  at::Device device_ = at::kCPU;
  std::unique_ptr<c10::Event> copied_;  // null: there are no batches
};

}  // namespace millrace

#endif  // MILLRACE_FRAMEWORK_DEVICE_BATCH_UPLOAD_H_
