#include "base/lines/line_reader.h"

#include <algorithm>

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
      size_bytes_(std::min(file_->size_bytes(), options.most_bytes)) {}

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

}  // namespace millrace
