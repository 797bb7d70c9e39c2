// The checksum of TFRecord files, event files and queues.
#ifndef MILLRACE_BASE_CHECKSUM_CRC32C_H_
#define MILLRACE_BASE_CHECKSUM_CRC32C_H_

#include <cstdint>

#include "absl/strings/string_view.h"

namespace millrace {

// CRC-32C (Castagnoli's polynomial, RFC 3720 B.4) of the bytes.
uint32_t crc32c(absl::string_view bytes);

// Returns a CRC in the form of files: rotated by 15 bits, plus a constant, because a CRC of bytes
// with embedded CRCs is weak. From LevelDB, as in TensorFlow.
uint32_t masked_crc32c(absl::string_view bytes);

}  // namespace millrace

#endif  // MILLRACE_BASE_CHECKSUM_CRC32C_H_
