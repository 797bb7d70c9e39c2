// A file of lines that a resumed run continues.
#ifndef MILLRACE_HOOKS_LINE_FILE_H_
#define MILLRACE_HOOKS_LINE_FILE_H_

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

// Appends lines to a file, which comes with its first line. A hook keeps bytes() in its state, so
// that a run that continues from a checkpoint drops what came after it. Used on one thread.
class LineFile {
 public:
  static constexpr int64_t kUnknown = -1;
  // Returns true for a line that a run which continues drops.
  using IsLater = std::function<bool(absl::string_view line)>;

  // Borrows `files`. The directory is created when needed.
  LineFile(FileSystem& files, std::string path) : files_(files), path_(std::move(path)) {}

  // Begins a run. If it does not continue another one, a file that is there is replaced. If it
  // does, the first append() drops what is behind bytes(), the lines of which `is_later` is true,
  // and a last line without an end.
  void begin(bool continues, IsLater is_later = nullptr);

  // Opens the file, which the first append() does otherwise. Errors: see FileSystem.
  absl::Status open();

  // Appends a line, which must not contain a line break. Errors: see FileSystem. After an error in
  // writing, the next append() or finish() first writes what the file lacks of the line. If that
  // fails too, the line of that append() is lost.
  absl::Status append(absl::string_view line);
  // Returns whether the file has no line of this run and of those that it continues, as far as is
  // known.
  bool empty() const { return bytes_ <= 0; }

  // Makes the lines, and the name of the file, durable. Called before a checkpoint gets bytes(), so
  // that the lines before those of a resumed run survive a power cut. Does nothing without a line
  // in this run, or if somebody removed the file. Errors: see FileSystem; append() and later calls
  // may succeed.
  absl::Status sync();
  // Begins the file anew if somebody removed it.
  void check_removed();
  // Makes the lines durable as sync() does. Nothing may follow but begin().
  absl::Status finish();

  // Returns the number of bytes of the lines of this run and of those that it continues; kUnknown:
  // not known.
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

#endif  // MILLRACE_HOOKS_LINE_FILE_H_
