#include "base/checksum/tfrecord.h"

#include <cstdint>

#include "absl/strings/str_cat.h"
#include "base/checksum/crc32c.h"

namespace millrace {
namespace {

std::string little_endian(uint64_t number, int bytes) {
  std::string text;
  for (int i = 0; i < bytes; ++i) text.push_back(static_cast<char>(number >> (8 * i)));
  return text;
}

}  // namespace

std::string tfrecord(absl::string_view data) {
  const std::string length = little_endian(data.size(), 8);
  return absl::StrCat(length, little_endian(masked_crc32c(length), 4), data,
                      little_endian(masked_crc32c(data), 4));
}

}  // namespace millrace
