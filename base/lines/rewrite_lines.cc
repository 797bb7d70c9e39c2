#include "base/lines/rewrite_lines.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"

namespace millrace {
namespace {

constexpr int64_t kPieceBytes = 256 << 10;  // of a write

// Joins short writes.
class PieceWriter {
 public:
  explicit PieceWriter(WritableFile& file) : file_(file) {}
  absl::Status add(absl::string_view line) {
    absl::StrAppend(&piece_, line, "\n");
    bytes_ += static_cast<int64_t>(line.size()) + 1;
    return static_cast<int64_t>(piece_.size()) < kPieceBytes ? absl::OkStatus() : flush();
  }
  absl::Status flush() {
    const absl::Status status = file_.append(piece_);
    piece_.clear();
    return status;
  }
  int64_t bytes() const { return bytes_; }

 private:
  WritableFile& file_;
  std::string piece_;
  int64_t bytes_ = 0;
};

absl::Status copy_front(ReadableFile& from, int64_t bytes, WritableFile& to) {
  std::string piece;
  for (int64_t at = 0; at < bytes; at += static_cast<int64_t>(piece.size())) {
    const int64_t count = std::min(kPieceBytes, bytes - at);
    piece.resize(static_cast<size_t>(count));
    ASSIGN_OR_RETURN(const int64_t got, from.read_at(at, count, piece.data()));
    if (got < count) {
      return absl::UnavailableError(
          absl::StrCat("cannot read ", from.path(), ": it became shorter"));
    }
    RETURN_IF_ERROR(to.append(piece));
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<int64_t> rewrite_lines(FileSystem& files, const std::string& path,
                                      const LineReaderOptions& options, const LineEdit& edit) {
  auto opened = LineReader::open(files, path, options);
  if (absl::IsNotFound(opened.status())) return 0;
  RETURN_IF_ERROR(opened.status());
  LineReader& reader = **opened;

  // Find the first line that changes.
  absl::string_view old;
  std::string line;
  int64_t same = 0;  // bytes before it
  bool keep = true, changed = false;
  for (;;) {
    ASSIGN_OR_RETURN(const bool more, reader.next(old));
    if (!more) break;
    line.assign(old.data(), old.size());
    keep = edit == nullptr || edit(line);
    changed = !keep || line != old;
    if (changed) break;
    same = reader.end_of_line();
  }
  if (!changed && same == reader.file().size_bytes()) return same;

  // Write this line and all later lines after a copy of the unchanged part.
  int64_t bytes = same;
  RETURN_IF_ERROR(write_file_atomically(files, path, [&](WritableFile& file) -> absl::Status {
    RETURN_IF_ERROR(copy_front(reader.file(), same, file));
    PieceWriter writer(file);
    if (changed && keep) RETURN_IF_ERROR(writer.add(line));
    while (changed) {
      ASSIGN_OR_RETURN(const bool more, reader.next(old));
      if (!more) break;
      line.assign(old.data(), old.size());
      if (edit(line)) RETURN_IF_ERROR(writer.add(line));
    }
    bytes += writer.bytes();
    return writer.flush();
  }));
  return bytes;
}

}  // namespace millrace
