#include "io/format/text_lines.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/isa/instruction_set.h"
#include "base/status_macros.h"
#include "io/file_start.h"
#include "io/format/cell_index.h"
#include "io/format/csv_config.h"

namespace millrace {
namespace {

constexpr int64_t kBlockBytes = 16 << 10;  // with its marks, it stays in the first two caches

// Cuts a file into groups, as its bytes come by.
class LineScanner {
 public:
  LineScanner(const LineIndexOptions& options, const TextStart& start)
      : options_(options),
        header_due_(options.with_header),
        offset_(start.begin),
        row_begin_(start.begin),
        line_(start.line),
        row_line_(start.line),
        cell_begin_(start.begin) {
    open_.begin = open_.end = start.begin;
    open_.first_line = start.line;
  }

  // REQUIRES: kTextPadding readable bytes behind `bytes`.
  absl::Status scan(absl::string_view bytes) {
    if (!options_.quoted_delimiter.has_value()) return scan_plain(bytes);
    for (; !bytes.empty(); bytes.remove_prefix(std::min<size_t>(bytes.size(), kBlockBytes))) {
      const absl::string_view block = bytes.substr(0, kBlockBytes);
      // Only blocks with a quote, and those within a quoted cell, need to look at every delimiter.
      if (in_quotes_ || std::memchr(block.data(), '"', block.size()) != nullptr) {
        RETURN_IF_ERROR(scan_quoted(block));
      } else {
        RETURN_IF_ERROR(scan_plain(block));
        if (block.back() == *options_.quoted_delimiter) cell_begin_ = offset_;
      }
    }
    return absl::OkStatus();
  }

  // REQUIRES: the whole file was scanned.
  absl::StatusOr<LineIndex> finish() {
    if (in_quotes_) return endless_cell("");
    if (offset_ > row_begin_) {
      ++line_;
      end_row();
    }
    if (open_.rows > 0) index_.groups.push_back(open_);
    return std::move(index_);
  }

 private:
  absl::Status scan_plain(absl::string_view bytes) {
    const char* place = bytes.data();
    const char* const end = place + bytes.size();
    while (place < end) {
      const char* const feed = static_cast<const char*>(std::memchr(place, '\n', end - place));
      const char* const stop = feed == nullptr ? end : feed;
      look_for_text({place, static_cast<size_t>(stop - place)});
      offset_ += stop - place + (feed != nullptr ? 1 : 0);
      RETURN_IF_ERROR(check_row_bytes());
      if (feed != nullptr) {
        ++line_;
        end_row();
      }
      place = stop + 1;
    }
    return absl::OkStatus();
  }

  // A quote in a quoted cell ends it. One that follows at once opens it again: the two stand for a
  // quote. So no byte behind a mark is read, which may be in the next block.
  absl::Status scan_quoted(absl::string_view block) {
    marks_.resize(kBlockBytes + 8);
    const int64_t begin = offset_;
    const int64_t count = index_marks_(block.data(), static_cast<int64_t>(block.size()),
                                       *options_.quoted_delimiter, marks_.data());
    int64_t looked_at = 0;
    for (int64_t i = 0; i < count; ++i) {
      const int64_t place = marks_[i];
      offset_ = begin + place;
      look_for_text(block.substr(looked_at, place - looked_at));
      looked_at = place + 1;
      if (block[place] == '"') {
        find_quote();
      } else if (block[place] == '\n') {
        ++offset_;
        ++line_;
        RETURN_IF_ERROR(check_row_bytes());
        // A line feed within quotes is part of a cell.
        if (!in_quotes_) end_row();
      } else if (!in_quotes_) {
        blank_ = false;
        cell_begin_ = offset_ + 1;
      }
    }
    look_for_text(block.substr(looked_at));
    offset_ = begin + static_cast<int64_t>(block.size());
    return check_row_bytes();
  }

  // At offset_.
  void find_quote() {
    blank_ = false;
    if (in_quotes_) {
      in_quotes_ = false;
      reopens_at_ = offset_ + 1;
    } else if (offset_ == cell_begin_) {
      in_quotes_ = true;
      open_.quoted = true;
      quote_line_ = line_;
    } else if (offset_ == reopens_at_) {
      in_quotes_ = true;
    }
  }

  void look_for_text(absl::string_view bytes) {
    for (size_t i = 0; blank_ && i < bytes.size(); ++i) blank_ = bytes[i] == '\r';
  }

  absl::Status check_row_bytes() const {
    if (offset_ - row_begin_ <= kMaxLineBytes) return absl::OkStatus();
    if (in_quotes_) return endless_cell(absl::StrCat(" within ", kMaxLineBytes, " bytes"));
    return absl::DataLossError(
        absl::StrCat("line ", row_line_, ": more than ", kMaxLineBytes, " bytes"));
  }

  absl::Status endless_cell(absl::string_view within) const {
    return absl::DataLossError(absl::StrCat("line ", quote_line_,
                                            ": the quoted cell that begins here does not end",
                                            within, kLiteralQuotesAdvice));
  }

  // Behind its last line.
  void end_row() {
    row_begin_ = cell_begin_ = offset_;
    row_line_ = line_;
    open_.end = offset_;
    if (!std::exchange(blank_, true)) ++open_.rows;
    const bool full =
        open_.rows == options_.group_rows || open_.end - open_.begin >= options_.group_bytes;
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

  const LineIndexOptions options_;
  const IndexMarks index_marks_ = index_marks(best_instruction_set());
  std::vector<uint32_t> marks_;  // of a block
  bool header_due_;
  bool blank_ = true;  // the row so far
  int64_t offset_;
  int64_t row_begin_;
  int64_t line_;
  int64_t row_line_;  // where the row begins
  LineGroup open_;
  LineIndex index_;

  // With quoted cells. A quote opens a cell at cell_begin_ and continues it at reopens_at_.
  bool in_quotes_ = false;
  int64_t cell_begin_;
  int64_t reopens_at_ = -1;
  int64_t quote_line_ = 1;
};

absl::Status became_shorter() {
  return absl::DataLossError("the file became shorter while it was being read");
}

}  // namespace

absl::StatusOr<LineIndex> index_lines(ReadableFile& file, const LineIndexOptions& options) {
  const int64_t size = file.size_bytes();
  std::string head(std::min(size, kTextStartBytes), '\0');
  ASSIGN_OR_RETURN(const int64_t got,
                   file.read_at(0, static_cast<int64_t>(head.size()), head.data()));
  head.resize(got);
  ASSIGN_OR_RETURN(const TextStart start, find_text_start(head, options.separator.has_value()));
  if (start.separator != '\0' && start.separator != options.separator) {
    return absl::InvalidArgumentError(absl::StrCat("the first line says delimiter ",
                                                   quoted_delimiter(start.separator), "; set ",
                                                   delimiter_setting(start.separator)));
  }
  LineScanner scanner(options, start);
  const int64_t most = std::clamp<int64_t>(size, 1, options.read_bytes);
  const std::unique_ptr<char[]> buffer(new char[most + kTextPadding]);
  // The scanner reads whole vectors, also beyond the last byte.
  std::memset(buffer.get() + most, 0, kTextPadding);
  for (int64_t offset = start.begin; offset < size;) {
    const int64_t wanted = std::min(options.read_bytes, size - offset);
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
