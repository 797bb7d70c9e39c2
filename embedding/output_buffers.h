// Reusable memory of large outputs.
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

// Creates tensors whose memory returns to this object with the last reference to their storage.
// Without reuse, the system would map, clear and unmap the pages of large outputs in every step.
// Keeps the memory of at most three tensors. Thread-safe; tensors may outlive the object.
class OutputBuffers : public std::enable_shared_from_this<OutputBuffers> {
 public:
  static std::shared_ptr<OutputBuffers> create() {
    return std::shared_ptr<OutputBuffers>(new OutputBuffers());
  }
  ~OutputBuffers();

  // Returns an uninitialized contiguous float32 [rows, columns] on the CPU. For a `copied_to` other
  // than the CPU the memory is pinned, and LibTorch reuses it.
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
  std::vector<Buffer> spare_ ABSL_GUARDED_BY(mutex_);  // in the order of their return
};

}  // namespace millrace

#endif  // MILLRACE_EMBEDDING_OUTPUT_BUFFERS_H_
