#include "base/byte_stream.h"

#include <bit>

namespace millrace {

void ByteWriter::write_uint32(uint32_t value) { write_little_endian(value, 4); }

void ByteWriter::write_uint64(uint64_t value) { write_little_endian(value, 8); }

void ByteWriter::write_float(float value) { write_uint32(std::bit_cast<uint32_t>(value)); }

void ByteWriter::write_double(double value) { write_uint64(std::bit_cast<uint64_t>(value)); }

void ByteWriter::write_string(absl::string_view value) {
  write_uint64(value.size());
  bytes_.append(value.data(), value.size());
}

void ByteWriter::write_little_endian(uint64_t value, int size) {
  char bytes[8];
  for (int i = 0; i < size; ++i) bytes[i] = static_cast<char>(value >> (8 * i));
  bytes_.append(bytes, size);
}

float ByteReader::read_float() { return std::bit_cast<float>(read_uint32()); }

double ByteReader::read_double() { return std::bit_cast<double>(read_uint64()); }

absl::string_view ByteReader::read_string() {
  const uint64_t size = read_uint64();
  if (size > rest_.size()) {
    ok_ = false;
    rest_ = {};
  }
  if (!ok_) return {};
  const absl::string_view value = rest_.substr(0, size);
  rest_.remove_prefix(size);
  return value;
}

uint64_t ByteReader::read_little_endian(int size) {
  if (static_cast<size_t>(size) > rest_.size()) {
    ok_ = false;
    rest_ = {};
  }
  if (!ok_) return 0;
  uint64_t value = 0;
  for (int i = 0; i < size; ++i) {
    value |= static_cast<uint64_t>(static_cast<unsigned char>(rest_[i])) << (8 * i);
  }
  rest_.remove_prefix(size);
  return value;
}

}  // namespace millrace
