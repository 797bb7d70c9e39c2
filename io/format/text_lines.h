// Files of lines, cut into groups of whole lines that are read one by one.
#ifndef MILLRACE_IO_FORMAT_TEXT_LINES_H_
#define MILLRACE_IO_FORMAT_TEXT_LINES_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "base/file_system.h"

namespace millrace {

inline constexpr int64_t kMaxLineBytes = 16 << 20;

// Lines of a file: bytes [begin, end), in which rows [first_row, first_row + rows) stand, one in
// each line that is not blank. Lines count from 1, blank ones too.
struct LineGroup {
  int64_t begin = 0;
  int64_t end = 0;
  int64_t first_row = 0;
  int64_t rows = 0;
  int64_t first_line = 1;
  friend bool operator==(const LineGroup&, const LineGroup&) = default;
};

// Where the lines of a file are. A line ends with a line feed, or with the file, and is blank if it
// holds nothing but carriage returns.
struct LineIndex {
  LineGroup header;  // rows is 0 if there is none
  std::vector<LineGroup> groups;
};

// Looks through a file once for its line ends, behind a byte order mark. `with_header`: the first
// line that is not blank is no row. Groups end after 16384 rows or 8 MiB. Errors: those of reading;
// DataLoss for a line beyond kMaxLineBytes, with its number, and for a file that became shorter.
absl::StatusOr<LineIndex> index_lines(ReadableFile& file, bool with_header);

// The bytes of one group. The last line ends with a line feed too, and kTextPadding + `more`
// readable bytes stand behind it.
class LineBuffer {
 public:
  // Errors: those of reading; DataLoss for a file that became shorter.
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
