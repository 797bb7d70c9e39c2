#include "base/byte_buffer.h"

#include <algorithm>
#include <cstring>

namespace millrace {

void ByteBuffer::resize(size_t size) {
  if (size > capacity_) {
    const size_t capacity = std::max(size, capacity_ + capacity_ / 2);
    std::unique_ptr<char[]> data(new char[capacity]);  // not cleared
    if (size_ > 0) std::memcpy(data.get(), data_.get(), size_);
    data_ = std::move(data);
    capacity_ = capacity;
  }
  size_ = size;
}

char* ByteBuffer::extend(size_t size) {
  const size_t begin = size_;
  resize(begin + size);
  return data_.get() + begin;
}

void ByteBuffer::append(absl::string_view bytes) {
  if (!bytes.empty()) std::memcpy(extend(bytes.size()), bytes.data(), bytes.size());
}

}  // namespace millrace
