#include "base/lines/file_lines.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"

namespace millrace {

absl::StatusOr<std::unique_ptr<LineReader>> LineReader::open(FileSystem& files,
                                                             const std::string& path,
                                                             const LineReaderOptions& options) {
  ASSIGN_OR_RETURN(std::unique_ptr<ReadableFile> file, files.open(path));
  return std::unique_ptr<LineReader>(new LineReader(std::move(file), options));
}

LineReader::LineReader(std::unique_ptr<ReadableFile> file, const LineReaderOptions& options)
    : file_(std::move(file)),
      options_(options),
      size_bytes_(std::min(file_->size_bytes(), options.most_bytes)),
      end_of_line_(options.first_byte) {}

size_t LineReader::find_end(size_t from, bool& quoted) const {
  if (!options_.quotes) return text_.find('\n', from);
  for (size_t i = from; i < text_.size(); ++i) {
    if (text_[i] == '"') quoted = !quoted;
    if (text_[i] == '\n' && !quoted) return i;
  }
  return std::string::npos;
}

absl::StatusOr<bool> LineReader::read_more() {
  const auto have = static_cast<int64_t>(text_.size());
  const int64_t left = size_bytes_ - end_of_line_ - have;
  // A long line is read in pieces that double.
  const int64_t count = std::min(std::max(options_.read_bytes, have), left);
  if (count <= 0) return false;
  text_.resize(static_cast<size_t>(have + count));
  ASSIGN_OR_RETURN(const int64_t got,
                   file_->read_at(end_of_line_ + have, count, text_.data() + have));
  text_.resize(static_cast<size_t>(have + got));
  return got > 0;
}

absl::StatusOr<bool> LineReader::next(absl::string_view& line) {
  bool quoted = false;
  for (size_t searched = begin_;;) {
    const size_t end = find_end(searched, quoted);
    if (end != std::string::npos) {
      line = absl::string_view(text_).substr(begin_, end - begin_);
      end_of_line_ += static_cast<int64_t>(line.size()) + 1;
      begin_ = end + 1;
      return true;
    }
    text_.erase(0, std::exchange(begin_, 0));
    searched = text_.size();
    ASSIGN_OR_RETURN(const bool more, read_more());
    if (!more) return false;
  }
}

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
