// The bytes of a file in order, plain or decompressed.
#ifndef MILLRACE_IO_FORMAT_BYTE_SOURCE_H_
#define MILLRACE_IO_FORMAT_BYTE_SOURCE_H_

#include <cstdint>
#include <memory>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "base/file_system.h"

namespace millrace {

// One pass over a file. Not thread-safe.
class ByteSource {
 public:
  virtual ~ByteSource() = default;

  // Fills `out`. Returns: how many bytes; fewer only at the end.
  // Errors: as reading files; DataLoss for a file that became shorter, and for compressed bytes
  // that are damaged or end early, with their offset in the file.
  virtual absl::StatusOr<int64_t> read(absl::Span<char> out) = 0;
};

// Returns a source of the unmodified bytes of the file, from `offset`. `file` must outlive the
// source.
std::unique_ptr<ByteSource> plain_bytes(ReadableFile& file, int64_t offset = 0);

// Returns a source of a file in gzip's format (RFC 1952), of one or several members, decompressed
// and checked against their checksums. `file` must outlive it.
std::unique_ptr<ByteSource> gzip_bytes(ReadableFile& file);

// Returns true if a file begins as gzip's do. Errors: as reading files.
absl::StatusOr<bool> is_gzip(ReadableFile& file);

}  // namespace millrace

#endif  // MILLRACE_IO_FORMAT_BYTE_SOURCE_H_
