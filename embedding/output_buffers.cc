#include "embedding/output_buffers.h"

#include <ATen/ops/empty.h>
#include <ATen/ops/from_blob.h>

#include "base/memory/huge_memory.h"

namespace millrace {
namespace {

constexpr int64_t kWorthKeeping = 1 << 20;  // bytes
constexpr size_t kSpares = 3;

}  // namespace

OutputBuffers::~OutputBuffers() {
  for (const Buffer& buffer : spare_) unmap_memory(buffer.memory, buffer.bytes);
}

at::Tensor OutputBuffers::take(int64_t rows, int64_t columns, at::Device copied_to) {
  if (!copied_to.is_cpu()) {
    return at::empty({rows, columns}, at::TensorOptions(at::kFloat).pinned_memory(true));
  }
  const int64_t bytes = rows * columns * static_cast<int64_t>(sizeof(float));
  if (bytes < kWorthKeeping) return at::empty({rows, columns}, at::kFloat);
  const Buffer buffer = take_buffer(bytes);
  return at::from_blob(
      buffer.memory, {rows, columns},
      [self = shared_from_this(), buffer](void*) { self->give_back(buffer); }, at::kFloat);
}

OutputBuffers::Buffer OutputBuffers::take_buffer(int64_t bytes) {
  bytes = (bytes + kHugePageBytes - 1) / kHugePageBytes * kHugePageBytes;
  {
    MutexLock lock(mutex_);
    for (size_t i = spare_.size(); i-- > 0;) {
      if (spare_[i].bytes < bytes || spare_[i].bytes > 2 * bytes) continue;
      const Buffer buffer = spare_[i];
      spare_.erase(spare_.begin() + static_cast<int64_t>(i));
      return buffer;
    }
  }
  const Buffer buffer = {map_memory(bytes), bytes};
  use_huge_pages(buffer.memory, bytes);
  return buffer;
}

void OutputBuffers::give_back(const Buffer& buffer) {
  Buffer oldest = {nullptr, 0};
  {
    MutexLock lock(mutex_);
    spare_.push_back(buffer);
    if (spare_.size() > kSpares) {
      oldest = spare_.front();
      spare_.erase(spare_.begin());
    }
  }
  if (oldest.memory != nullptr) unmap_memory(oldest.memory, oldest.bytes);
}

}  // namespace millrace
