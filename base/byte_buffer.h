// Bytes for messages and files, without the cost of clearing memory.
#ifndef MILLRACE_BASE_BYTE_BUFFER_H_
#define MILLRACE_BASE_BYTE_BUFFER_H_

#include <cstddef>
#include <memory>

#include "absl/strings/string_view.h"

namespace millrace {

// A resizable array of bytes. New bytes have no defined value. Keeps its largest capacity until it
// is destroyed. Not thread-safe.
class ByteBuffer {
 public:
  ByteBuffer() = default;

  char* data() { return data_.get(); }
  const char* data() const { return data_.get(); }
  size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  size_t capacity() const { return capacity_; }
  absl::string_view view() const { return {data_.get(), size_}; }

  // Keeps the first bytes, at most `size`.
  void resize(size_t size);
  void clear() { size_ = 0; }
  // Appends `size` bytes and returns the first of them, valid until the next change of the size.
  char* extend(size_t size);
  void append(absl::string_view bytes);

 private:
  std::unique_ptr<char[]> data_;
  size_t size_ = 0;
  size_t capacity_ = 0;
};

}  // namespace millrace

#endif  // MILLRACE_BASE_BYTE_BUFFER_H_
