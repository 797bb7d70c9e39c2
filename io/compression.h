// Files that are compressed as a whole.
#ifndef MILLRACE_IO_COMPRESSION_H_
#define MILLRACE_IO_COMPRESSION_H_

#include <cstdint>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace millrace {

// Bytes of a file that the following need.
inline constexpr int64_t kCompressionBytes = 16;

// Returns the compression of a file beginning with `head`: "gzip", "zstd", "zip", "bzip2" or "xz";
// "" if none of these did.
absl::string_view compression_of(absl::string_view head);

// Checks that a file beginning with `head` is not compressed. Errors: DataLoss naming the
// compression and how to unpack the file.
absl::Status check_not_compressed(absl::string_view head);

}  // namespace millrace

#endif  // MILLRACE_IO_COMPRESSION_H_
