// The start of a file: compression, and what comes before the first line.
#ifndef MILLRACE_IO_FILE_START_H_
#define MILLRACE_IO_FILE_START_H_

#include <cstdint>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace millrace {

// Bytes of a file that find_text_start() needs.
inline constexpr int64_t kTextStartBytes = 64 << 10;

// The begin of the lines of a file.
struct TextStart {
  int64_t begin = 0;      // behind a byte order mark and a line "sep=;"
  int64_t line = 1;       // number of the line at `begin`
  char separator = '\0';  // that a line "sep=;" names, as spreadsheets write it; '\0': none
};

// Returns true if `head`, the first bytes of a file, has the byte order mark of UTF-16.
bool is_utf16(absl::string_view head);

// Returns where the lines of a file begin. `head`: its first kTextStartBytes, or all of it.
// `separator_line`: a first line "sep=;", which may be quoted, is no line of the data. Errors:
// DataLoss for a compressed file, as check_not_compressed(), for text in UTF-16, by its byte order
// mark, and for lines that end with carriage returns alone: there is no line feed in `head`, and
// text behind a carriage return that is not quoted.
absl::StatusOr<TextStart> find_text_start(absl::string_view head, bool separator_line);

// Bytes of a file that the following need.
inline constexpr int64_t kCompressionBytes = 16;

// Returns the compression of a file beginning with `head`: "gzip", "zstd", "zip", "bzip2" or "xz";
// "" if none of these did.
absl::string_view compression_of(absl::string_view head);

// Checks that a file beginning with `head` is not compressed. Errors: DataLoss naming the
// compression and how to unpack the file.
absl::Status check_not_compressed(absl::string_view head);

}  // namespace millrace

#endif  // MILLRACE_IO_FILE_START_H_
