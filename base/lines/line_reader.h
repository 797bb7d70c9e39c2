// A reader of the lines of a file.
#ifndef MILLRACE_BASE_LINES_LINE_READER_H_
#define MILLRACE_BASE_LINES_LINE_READER_H_

#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "base/file_system.h"

namespace millrace {

struct LineReaderOptions {
  // Bytes after these are not read.
  int64_t most_bytes = std::numeric_limits<int64_t>::max();
  // If true, a line feed between double quotes is a part of its line, as in CSV files.
  bool quotes = false;
  int64_t read_bytes = 256 << 10;  // of a read, unless a line is longer
};

// Reads the lines of a file from its beginning. Memory: a read and the longest line. Not
// thread-safe.
class LineReader {
 public:
  // Errors: see FileSystem::open.
  static absl::StatusOr<std::unique_ptr<LineReader>> open(FileSystem& files,
                                                          const std::string& path,
                                                          const LineReaderOptions& options = {});

  // Sets `line` to the next line without its line feed, valid until the next call. Returns false
  // at the end; a last line without a line feed is omitted. Errors: see ReadableFile::read_at.
  absl::StatusOr<bool> next(absl::string_view& line);

  // Returns the position behind the line feed of the last line.
  int64_t end_of_line() const { return end_of_line_; }
  ReadableFile& file() { return *file_; }

 private:
  LineReader(std::unique_ptr<ReadableFile> file, const LineReaderOptions& options);
  // Returns the position of the line feed that ends the line at begin_, or npos. `from`: the first
  // position that was not searched. `quoted`: true within quotes there.
  size_t find_end(size_t from, bool& quoted) const;
  absl::StatusOr<bool> read_more();

  const std::unique_ptr<ReadableFile> file_;
  const LineReaderOptions options_;
  const int64_t size_bytes_;  // that are read
  std::string text_;          // what was read, without lines before the last one
  size_t begin_ = 0;          // of the next line in text_
  int64_t end_of_line_ = 0;
};

}  // namespace millrace

#endif  // MILLRACE_BASE_LINES_LINE_READER_H_
