// Digests of the chunks of files, which locate damage within a file. See docs/checkpoint_format.md.
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

// The size of a chunk; the last chunk of a file may be smaller.
inline constexpr int64_t kChunkBytes = 16 << 20;

// The chunks of one file: XXH3-128 of each chunk.
struct FileChunks {
  std::string name;
  int64_t size_bytes = 0;
  std::vector<absl::uint128> digests = {};

  friend bool operator==(const FileChunks&, const FileChunks&) = default;
};

// Returns the number of chunks of a file of `size_bytes`; 0 for an empty file.
int64_t chunk_count(int64_t size_bytes);

// Returns the size of a chunk in bytes. REQUIRES: chunk < chunk_count(size_bytes).
int64_t chunk_size(int64_t size_bytes, int64_t chunk);

// Returns the chunks of a file with this content.
FileChunks chunks_of(absl::string_view name, absl::string_view content);

// Returns the digest of a file: XXH3-128 of its chunk digests.
absl::uint128 file_digest(absl::Span<const absl::uint128> chunk_digests);

// Returns true for a valid file name: letters, digits, `_`, `-` and `.`, not beginning with `.`, at
// most 255 characters. Such a name contains no slash and is neither "." nor "..".
bool is_file_name(absl::string_view name);

// Returns the text of a chunks file. The text lists files by ascending name, in any order of
// `files`.
std::string format_chunks(std::vector<FileChunks> files);

// Parses a chunks file. Errors: DataLoss, naming the line, for any text that format_chunks() does
// not write; Unimplemented for a newer version.
absl::StatusOr<std::vector<FileChunks>> parse_chunks(absl::string_view text);

}  // namespace millrace

#endif  // MILLRACE_CHECKPOINT_FORMAT_CHUNK_DIGESTS_H_
