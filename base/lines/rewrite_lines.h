// Changes to the lines of a file.
#ifndef MILLRACE_BASE_LINES_REWRITE_LINES_H_
#define MILLRACE_BASE_LINES_REWRITE_LINES_H_

#include <cstdint>
#include <functional>
#include <string>

#include "absl/status/statusor.h"
#include "base/file_system.h"
#include "base/lines/line_reader.h"

namespace millrace {

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

#endif  // MILLRACE_BASE_LINES_REWRITE_LINES_H_
