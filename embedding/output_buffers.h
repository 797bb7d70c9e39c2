// Memory of large outputs, used again step after step.
#ifndef MILLRACE_EMBEDDING_OUTPUT_BUFFERS_H_
#define MILLRACE_EMBEDDING_OUTPUT_BUFFERS_H_

#include <ATen/core/Tensor.h>
#include <c10/core/Device.h>

#include <cstdint>
#include <memory>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "base/mutex.h"

namespace millrace {

// Makes tensors whose memory comes back here when the last of their users is gone. Large outputs
// of a step would else be mapped, cleared page by page and given back each time. Keeps the
// memory of a few tensors. Thread-safe; tensors may outlive it.
class OutputBuffers : public std::enable_shared_from_this<OutputBuffers> {
 public:
  static std::shared_ptr<OutputBuffers> create() {
    return std::shared_ptr<OutputBuffers>(new OutputBuffers());
  }
  ~OutputBuffers();

  // float32 [rows, columns], contiguous, not initialised. On the CPU; for copies to a device other
  // than the CPU in pinned memory, which LibTorch keeps for reuse.
  at::Tensor take(int64_t rows, int64_t columns, at::Device copied_to = at::kCPU);

 private:
  struct Buffer {
    char* memory;
    int64_t bytes;
  };

  OutputBuffers() = default;
  Buffer take_buffer(int64_t bytes);
  void give_back(const Buffer& buffer);

  Mutex mutex_;
  std::vector<Buffer> spare_ ABSL_GUARDED_BY(mutex_);  // the one given back last is last
};

}  // namespace millrace

#endif  // MILLRACE_EMBEDDING_OUTPUT_BUFFERS_H_
