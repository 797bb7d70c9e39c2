// The records of TFRecord and event files.
#ifndef MILLRACE_BASE_CHECKSUM_TFRECORD_H_
#define MILLRACE_BASE_CHECKSUM_TFRECORD_H_

#include <string>

#include "absl/strings/string_view.h"

namespace millrace {

// Returns `data` as a record of the TFRecord format: its length (uint64), the masked CRC-32C of the
// length, the data and the masked CRC-32C of the data, all little-endian.
std::string tfrecord(absl::string_view data);

}  // namespace millrace

#endif  // MILLRACE_BASE_CHECKSUM_TFRECORD_H_
