// Where the files of windows come from.
#ifndef MILLRACE_IO_WINDOW_WINDOW_SOURCE_H_
#define MILLRACE_IO_WINDOW_WINDOW_SOURCE_H_

#include <cstdint>
#include <functional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/file_system.h"
#include "proto/config.pb.h"
#include "proto/window_position.pb.h"

namespace millrace {

enum class Found { kWindow, kNotYet, kEnded };

// Finds one window after the other on rank 0. What it has given out stands in the WindowPosition
// that its owner keeps, and in checkpoints; a source itself holds only what it can find out again.
// Versions: list_window_source.h, directory_window_source.h, time_window_source.h, and those of
// window_source_registry.h, whose own state is WindowPosition.custom. Used by one thread.
//
//   WindowPosition position;  // where a stream begins
//   ASSIGN_OR_RETURN(const Found found, source->find(/*no_more=*/false, position));
class WindowSource {
 public:
  virtual ~WindowSource() = default;

  // Puts the window that follows `position` into it: name, files without their digests, rows, and
  // where the stream stands then; nothing else of it changes. Without a window it stays as it is.
  // `no_more`: nothing is waited for any longer; what is left makes the last window. May be called
  // for a position again, also just to look.
  // Errors: those of listing; DataLoss for what comes late or is missing, by policy;
  // InvalidArgument for a position of another source.
  virtual absl::StatusOr<Found> find(bool no_more, WindowPosition& position) = 0;

  // Where a file of a position is.
  virtual std::string path_of(const std::string& name) const = 0;

  // What the last find() that found none waits for: "files in incoming (3 of 4 are there)".
  virtual const std::string& waits_for() const = 0;
  // Changes whenever find() has seen something new.
  virtual int64_t seen() const = 0;
};

// How many rows a file has.
using RowCounter = std::function<absl::StatusOr<int64_t>(const std::string& path)>;

// Whether data files may have this name: it begins neither with . nor with _, does not end with
// .tmp, and matches the shell pattern.
bool is_data_name(const std::string& name, const std::string& pattern);

}  // namespace millrace

#endif  // MILLRACE_IO_WINDOW_WINDOW_SOURCE_H_
