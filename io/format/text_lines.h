// Files of lines, cut into groups of whole lines that are read one by one.
#ifndef MILLRACE_IO_FORMAT_TEXT_LINES_H_
#define MILLRACE_IO_FORMAT_TEXT_LINES_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "base/file_system.h"

namespace millrace {

inline constexpr int64_t kMaxLineBytes = 16 << 20;

// Advice that ends messages about quotes.
inline constexpr absl::string_view kLiteralQuotesAdvice =
    "; set csv { literal_quotes: true } if quotes are characters like others";

// Lines of a file: bytes [begin, end), in which rows [first_row, first_row + rows) stand, one in
// each line that is not blank. A row whose quoted cells hold line feeds takes several lines. Lines
// count from 1, blank ones too.
struct LineGroup {
  int64_t begin = 0;
  int64_t end = 0;
  int64_t first_row = 0;
  int64_t rows = 0;
  int64_t first_line = 1;
  bool quoted = false;  // some cell is quoted
  friend bool operator==(const LineGroup&, const LineGroup&) = default;
};

// The places of the lines of a file. A line ends with a line feed, or with the file, and is blank
// if it holds nothing but carriage returns.
struct LineIndex {
  LineGroup header;  // rows is 0 if there is none
  std::vector<LineGroup> groups;
};

struct LineIndexOptions {
  bool with_header = false;  // the first line that is not blank is no row
  // A first line "sep=;" (io/file_start.h) is omitted and must name this delimiter. None: such a
  // line is like others.
  std::optional<char> separator = std::nullopt;
  // Separates the cells of a line, of which each that begins with a quote ends at the next single
  // quote; inside, two quotes stand for one, and line feeds end no row. None: quotes are characters
  // like others.
  std::optional<char> quoted_delimiter = std::nullopt;
  // A group ends after `group_rows`, or after the row that reaches `group_bytes`.
  int64_t group_rows = 16384;
  int64_t group_bytes = 8 << 20;
  int64_t read_bytes = 1 << 20;  // at once
};

// Looks through a file once for its line ends, behind a byte order mark. Errors: as reading files
// and of find_text_start(); InvalidArgument for a first line that names another separator; DataLoss
// for a row beyond kMaxLineBytes and for a quoted cell that does not end, with the line where it
// begins, and for a file that became shorter.
absl::StatusOr<LineIndex> index_lines(ReadableFile& file, const LineIndexOptions& options);

// The bytes of one group. The last line ends with a line feed too, and kTextPadding + `more`
// readable bytes stand behind it.
class LineBuffer {
 public:
  // Errors: as reading files; DataLoss for a file that became shorter.
  absl::Status read(ReadableFile& file, const LineGroup& group, int64_t more = 0);
  const char* data() const { return bytes_.get(); }
  int64_t size() const { return size_; }

 private:
  std::unique_ptr<char[]> bytes_;
  int64_t capacity_ = 0;
  int64_t size_ = 0;
};

}  // namespace millrace

#endif  // MILLRACE_IO_FORMAT_TEXT_LINES_H_
