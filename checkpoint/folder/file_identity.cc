#include "checkpoint/folder/file_identity.h"

#include <algorithm>
#include <memory>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/hash.h"
#include "base/path/path_check.h"
#include "base/status_macros.h"
#include "checkpoint/format/chunk_digests.h"

namespace millrace {
namespace {

constexpr int64_t kPieceBytes = 1 << 20;  // bytes per read

}  // namespace

absl::StatusOr<FileIdentity> identify_file(FileSystem& files, const std::string& path) {
  RETURN_IF_ERROR(check_rereadable(files, path));
  ASSIGN_OR_RETURN(const std::unique_ptr<ReadableFile> file, files.open(path));
  const int64_t size = file->size_bytes();
  std::string piece(std::min(kPieceBytes, size), '\0');
  std::vector<absl::uint128> digests;
  for (int64_t chunk = 0, at = 0; chunk < chunk_count(size); ++chunk) {
    Xxh3Stream digest;
    for (const int64_t end = at + chunk_size(size, chunk); at < end;) {
      const int64_t due = std::min<int64_t>(piece.size(), end - at);
      ASSIGN_OR_RETURN(const int64_t count, file->read_at(at, due, piece.data()));
      if (count == 0) return absl::AbortedError(absl::StrCat(path, " became shorter"));
      digest.update(absl::string_view(piece).substr(0, count));
      at += count;
    }
    digests.push_back(digest.digest());
  }
  return FileIdentity{size, format_digest(file_digest(digests))};
}

}  // namespace millrace
