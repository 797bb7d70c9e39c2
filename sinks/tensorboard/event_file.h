// TensorBoard's event files.
#ifndef MILLRACE_SINKS_TENSORBOARD_EVENT_FILE_H_
#define MILLRACE_SINKS_TENSORBOARD_EVENT_FILE_H_

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "base/file_system.h"
#include "sinks/tensorboard/event.pb.h"

namespace millrace {

// Names of event files begin so: TensorBoard reads files of such names alone.
inline constexpr char kEventFilePrefix[] = "events.out.tfevents.";

// Writes events into a new file. Not thread-safe.
class EventFile {
 public:
  // Creates the file and writes its first event, the version of the format. `wall_time`: seconds
  // since 1970. Borrows `files`. Errors: see FileSystem::create and WritableFile::append.
  static absl::StatusOr<std::unique_ptr<EventFile>> create(FileSystem& files,
                                                           const std::string& path,
                                                           double wall_time);

  // Errors: see WritableFile.
  absl::Status write(const tensorboard::Event& event);
  // Makes events, and the name of the file, durable. Errors: likewise.
  absl::Status flush();
  // Returns whether somebody removed the file.
  bool is_removed() const { return absl::IsNotFound(files_.link_info(path_).status()); }

 private:
  EventFile(FileSystem& files, std::string path, std::unique_ptr<WritableFile> file)
      : files_(files), path_(std::move(path)), file_(std::move(file)) {}

  FileSystem& files_;
  const std::string path_;
  std::unique_ptr<WritableFile> file_;
  bool new_file_ = true;  // until the directory is durable
};

// Reads the events of a file one by one. Not thread-safe.
class EventReader {
 public:
  // Errors: see FileSystem::open.
  static absl::StatusOr<EventReader> open(FileSystem& files, const std::string& path);

  // Reads the next event. Returns: false at the end, and at a last record that is not whole.
  // Errors: DataLoss for a damaged record; see ReadableFile::read_at.
  absl::StatusOr<bool> next(tensorboard::Event& event);

 private:
  explicit EventReader(std::unique_ptr<ReadableFile> file) : file_(std::move(file)) {}

  std::unique_ptr<ReadableFile> file_;
  int64_t offset_ = 0;  // of the bytes behind buffer_
  std::string buffer_;
  size_t begin_ = 0;  // bytes of buffer_ that were returned
};

// Returns the events of a file. Errors: DataLoss for an incomplete record or wrong checksums.
absl::StatusOr<std::vector<tensorboard::Event>> read_events(absl::string_view bytes);

}  // namespace millrace

#endif  // MILLRACE_SINKS_TENSORBOARD_EVENT_FILE_H_
