// A file of lines that a resumed run continues.
#ifndef MILLRACE_BASE_LINES_LINE_FILE_H_
#define MILLRACE_BASE_LINES_LINE_FILE_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "base/file_system.h"

namespace millrace {

// Appends lines to a file, which is created with the first line. A hook stores bytes() in its
// state, so that a run that resumes from a checkpoint drops later lines. Used on one thread.
class LineFile {
 public:
  static constexpr int64_t kUnknown = -1;
  // Returns true for a line that a resumed run drops.
  using IsLater = std::function<bool(absl::string_view line)>;

  // Borrows `files`. The directory is created when needed.
  LineFile(FileSystem& files, std::string path) : files_(files), path_(std::move(path)) {}

  // Begins a run. A new run replaces an existing file. In a resumed run, the first append() drops
  // the bytes after bytes(), lines for which `is_later` is true, and an unterminated last line.
  void begin(bool continues, IsLater is_later = nullptr);

  // Opens the file, as the first append() would. Errors: see FileSystem.
  absl::Status open();

  // Appends a line without a line break. Errors: see FileSystem. After a write error, the next
  // append() or finish() first completes the line. If this fails too, the line of that append() is
  // lost.
  absl::Status append(absl::string_view line);
  // Returns true if the file has no known line of this run or of the runs that it continues.
  bool empty() const { return bytes_ <= 0; }

  // Makes the lines and the file name durable. Called before a checkpoint stores bytes(), so that
  // the lines before a resumed run's survive a power cut. Does nothing without a line in this run,
  // or if the file was removed. Errors: see FileSystem; append() and later calls may succeed.
  absl::Status sync();
  // Begins a new file if the file was removed.
  void check_removed();
  // Makes the lines durable like sync(). Only begin() may follow.
  absl::Status finish();

  // Returns the number of bytes in lines of this run and the runs that it continues; kUnknown: not
  // known.
  int64_t bytes() const { return bytes_; }
  void set_bytes(int64_t bytes) { bytes_ = bytes; }

 private:
  absl::Status finish_line();
  absl::StatusOr<std::string> read_tail();

  FileSystem& files_;
  const std::string path_;
  bool continues_ = false;
  IsLater is_later_;
  int64_t bytes_ = kUnknown;
  bool opened_ = false;                 // since begin()
  bool new_file_ = false;               // true until the directory is durable
  std::string unfinished_;              // the line at which an error occurred; not in bytes_
  std::unique_ptr<WritableFile> file_;  // null before open() and after an error
};

}  // namespace millrace

#endif  // MILLRACE_BASE_LINES_LINE_FILE_H_
