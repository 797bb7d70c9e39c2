// The lines of a file, read one by one or rewritten.
#ifndef MILLRACE_BASE_LINES_FILE_LINES_H_
#define MILLRACE_BASE_LINES_FILE_LINES_H_

#include <cstddef>
#include <cstdint>
#include <functional>
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
  int64_t first_byte = 0;          // at which the first line begins
};

// Reads the lines of a file in their order. Memory: a read and the longest line. Not
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
  int64_t end_of_line_;
};

// Returns false to remove a line. May change the line, which has no line feed.
using LineEdit = std::function<bool(std::string& line)>;

// Calls `edit`, unless it is null, once for each line of a file in their order, and replaces the
// file atomically by the lines that remain. Drops a last line without a line feed and all bytes
// after `options.most_bytes`. Does not write if nothing changes. Memory: see LineReader. Returns:
// the bytes of the file; 0 if there is none. Errors: see FileSystem; the file is as before, or as
// after success but perhaps not durable.
absl::StatusOr<int64_t> rewrite_lines(FileSystem& files, const std::string& path,
                                      const LineReaderOptions& options, const LineEdit& edit);

}  // namespace millrace

#endif  // MILLRACE_BASE_LINES_FILE_LINES_H_
