// Numbers and strings as bytes: little endian, the same on every machine.
#ifndef MILLRACE_BASE_BYTE_STREAM_H_
#define MILLRACE_BASE_BYTE_STREAM_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>

#include "absl/strings/string_view.h"

namespace millrace {

// Appends to a string of bytes.
//
//   ByteWriter writer;
//   writer.write_string("auc");
//   writer.write_double(0.5);
//   send(writer.bytes());
class ByteWriter {
 public:
  void write_uint8(uint8_t value) { bytes_.push_back(static_cast<char>(value)); }
  void write_uint32(uint32_t value);
  void write_uint64(uint64_t value);
  void write_int64(int64_t value) { write_uint64(static_cast<uint64_t>(value)); }
  void write_float(float value);
  void write_double(double value);
  // Writes the length, then the bytes.
  void write_string(absl::string_view value);
  // Reserves memory for `bytes` more.
  void reserve(size_t bytes) { bytes_.reserve(bytes_.size() + bytes); }

  const std::string& bytes() const { return bytes_; }
  // Returns the written bytes and clears the writer.
  std::string take() { return std::move(bytes_); }

 private:
  void write_little_endian(uint64_t value, int size);
  std::string bytes_;
};

// Reads the values of a ByteWriter, in the same order. Accepts any bytes: a value beyond the end
// reads as 0 or empty, and ok() is false from then on.
class ByteReader {
 public:
  // Borrows `bytes`.
  explicit ByteReader(absl::string_view bytes) : rest_(bytes) {}

  uint8_t read_uint8() { return static_cast<uint8_t>(read_little_endian(1)); }
  uint32_t read_uint32() { return static_cast<uint32_t>(read_little_endian(4)); }
  uint64_t read_uint64() { return read_little_endian(8); }
  int64_t read_int64() { return static_cast<int64_t>(read_uint64()); }
  float read_float();
  double read_double();
  // Returns a part of the bytes given to the constructor.
  absl::string_view read_string();

  // Returns true if all values read so far were present.
  bool ok() const { return ok_; }
  // Returns the number of bytes not read yet; 0 after a failure.
  size_t remaining() const { return rest_.size(); }
  // Returns true if all values were present and no bytes remain.
  bool done() const { return ok_ && rest_.empty(); }

 private:
  uint64_t read_little_endian(int size);
  absl::string_view rest_;
  bool ok_ = true;
};

}  // namespace millrace

#endif  // MILLRACE_BASE_BYTE_STREAM_H_
