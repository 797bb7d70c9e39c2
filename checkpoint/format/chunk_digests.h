// Digests of the pieces of files, by which damage is found where it is. See
// docs/checkpoint_format.md.
#ifndef MILLRACE_CHECKPOINT_FORMAT_CHUNK_DIGESTS_H_
#define MILLRACE_CHECKPOINT_FORMAT_CHUNK_DIGESTS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/numeric/int128.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"

namespace millrace {

// The size of a chunk; the last one of a file may be smaller.
inline constexpr int64_t kChunkBytes = 16 << 20;

// One file: XXH3-128 of each of its chunks.
struct FileChunks {
  std::string name;
  int64_t size_bytes = 0;
  std::vector<absl::uint128> digests = {};

  friend bool operator==(const FileChunks&, const FileChunks&) = default;
};

// The chunks of a file of so many bytes; none if it is empty.
int64_t chunk_count(int64_t size_bytes);

// The bytes of a chunk. REQUIRES: chunk < chunk_count(size_bytes).
int64_t chunk_size(int64_t size_bytes, int64_t chunk);

// The chunks of a file with this content.
FileChunks chunks_of(absl::string_view name, absl::string_view content);

// The digest of a file: XXH3-128 of its chunk digests.
absl::uint128 file_digest(absl::Span<const absl::uint128> chunk_digests);

// Whether a file may be called so: letters, digits, `_`, `-` and `.`, not first; at most 255. So it
// holds no slash and is neither "." nor "..".
bool is_file_name(absl::string_view name);

// A chunks file. Files come by ascending name, whatever their order here.
std::string format_chunks(std::vector<FileChunks> files);

// Errors: DataLoss, naming the line, for anything that format_chunks does not write;
// Unimplemented for a newer version.
absl::StatusOr<std::vector<FileChunks>> parse_chunks(absl::string_view text);

}  // namespace millrace

#endif  // MILLRACE_CHECKPOINT_FORMAT_CHUNK_DIGESTS_H_
