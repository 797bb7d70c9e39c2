#include "io/format/text_lines.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "io/format/cell_index.h"

namespace millrace {
namespace {

constexpr int64_t kGroupRows = 16384;
constexpr int64_t kGroupBytes = 8 << 20;  // a group ends after the line that reaches this
constexpr int64_t kReadBytes = 1 << 20;
constexpr absl::string_view kByteOrderMark = "\xef\xbb\xbf";

// Cuts a file into groups, as its bytes come by.
class LineScanner {
 public:
  // `begin`: where the first line begins.
  LineScanner(bool with_header, int64_t begin)
      : header_due_(with_header), offset_(begin), line_begin_(begin) {
    open_.begin = open_.end = begin;
  }

  absl::Status scan(absl::string_view bytes) {
    const char* place = bytes.data();
    const char* const end = place + bytes.size();
    while (place < end) {
      const char* const feed = static_cast<const char*>(std::memchr(place, '\n', end - place));
      const char* const stop = feed == nullptr ? end : feed;
      for (const char* at = place; blank_ && at < stop; ++at) blank_ = *at == '\r';
      offset_ += stop - place + (feed != nullptr ? 1 : 0);
      if (offset_ - line_begin_ > kMaxLineBytes) {
        return absl::DataLossError(
            absl::StrCat("line ", line_, ": more than ", kMaxLineBytes, " bytes"));
      }
      if (feed != nullptr) end_line();
      place = stop + 1;
    }
    return absl::OkStatus();
  }

  // REQUIRES: the whole file was scanned.
  LineIndex finish() {
    if (offset_ > line_begin_) end_line();
    if (open_.rows > 0) index_.groups.push_back(open_);
    return std::move(index_);
  }

 private:
  void end_line() {
    line_begin_ = offset_;
    ++line_;
    open_.end = offset_;
    if (!std::exchange(blank_, true)) ++open_.rows;
    const bool full = open_.rows == kGroupRows || open_.end - open_.begin >= kGroupBytes;
    if (open_.rows == 0 || !(full || header_due_)) return;
    const int64_t next_row = header_due_ ? 0 : open_.first_row + open_.rows;
    if (std::exchange(header_due_, false)) {
      index_.header = open_;
    } else {
      index_.groups.push_back(open_);
    }
    open_ = {
        .begin = offset_, .end = offset_, .first_row = next_row, .rows = 0, .first_line = line_};
  }

  bool header_due_;
  bool blank_ = true;  // the line so far
  int64_t offset_;
  int64_t line_begin_;
  int64_t line_ = 1;
  LineGroup open_;
  LineIndex index_;
};

absl::Status became_shorter() {
  return absl::DataLossError("the file became shorter while it was being read");
}

}  // namespace

absl::StatusOr<LineIndex> index_lines(ReadableFile& file, bool with_header) {
  std::array<char, kByteOrderMark.size()> start = {};
  ASSIGN_OR_RETURN(const int64_t got, file.read_at(0, start.size(), start.data()));
  const bool is_marked = absl::string_view(start.data(), got) == kByteOrderMark;
  const int64_t begin = is_marked ? got : 0;
  LineScanner scanner(with_header, begin);
  const int64_t size = file.size_bytes();
  const std::unique_ptr<char[]> buffer(new char[std::clamp<int64_t>(size, 1, kReadBytes)]);
  for (int64_t offset = begin; offset < size;) {
    const int64_t wanted = std::min(kReadBytes, size - offset);
    ASSIGN_OR_RETURN(const int64_t count, file.read_at(offset, wanted, buffer.get()));
    if (count < wanted) return became_shorter();
    RETURN_IF_ERROR(scanner.scan({buffer.get(), static_cast<size_t>(count)}));
    offset += count;
  }
  return scanner.finish();
}

absl::Status LineBuffer::read(ReadableFile& file, const LineGroup& group, int64_t more) {
  const int64_t count = group.end - group.begin;
  const int64_t padding = kTextPadding + more;
  const int64_t needed = count + 1 + padding;
  if (needed > capacity_) {
    bytes_.reset(new char[needed]);
    capacity_ = needed;
  }
  char* const begin = bytes_.get();
  ASSIGN_OR_RETURN(const int64_t got, file.read_at(group.begin, count, begin));
  if (got < count) return became_shorter();
  size_ = count;
  if (count > 0 && begin[count - 1] != '\n') begin[size_++] = '\n';
  std::memset(begin + size_, 0, padding);
  return absl::OkStatus();
}

}  // namespace millrace
