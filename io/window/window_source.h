// The source of the files of windows.
#ifndef MILLRACE_IO_WINDOW_WINDOW_SOURCE_H_
#define MILLRACE_IO_WINDOW_WINDOW_SOURCE_H_

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/file_system.h"
#include "io/stream_figure.h"
#include "proto/config.pb.h"
#include "proto/window_position.pb.h"

namespace millrace {

enum class Found { kWindow, kNotYet, kEnded };

// Finds one window after the other on rank 0. The windows given out are recorded in the
// WindowPosition that the owner keeps, and in checkpoints; a source itself holds only state that
// can be found again. Versions: list_window_source.h, directory_window_source.h,
// time_window_source.h, and registered sources (window_source_registry.h), whose own state is
// WindowPosition.custom. Used by one thread.
//
//   WindowPosition position;  // where a stream begins
//   ASSIGN_OR_RETURN(const Found found, source->find(/*no_more=*/false, position));
class WindowSource {
 public:
  virtual ~WindowSource() = default;

  // Puts the window that follows `position` into it: name, files without their digests, rows, and
  // the position of the stream after the window; other fields keep their values. Without a window
  // `position` does not change. `no_more`: waits for nothing more; the rest makes the last window.
  // May be called repeatedly for a position, also without using the result.
  // Errors: as listing files; DataLoss for late or missing files, by policy; InvalidArgument for a
  // position of another source.
  virtual absl::StatusOr<Found> find(bool no_more, WindowPosition& position) = 0;

  // Does as find() for reading files ahead, without a question to others, where that is known.
  // Default: find().
  virtual absl::StatusOr<Found> look_ahead(WindowPosition& position) {
    return find(/*no_more=*/false, position);
  }

  // Returns the path of a file of a position.
  virtual std::string path_of(const std::string& name) const = 0;

  // Returns false if path_of() names no files of the window at `position`: then nothing is read
  // ahead, and a resume does not check that they are unchanged. Default: true.
  virtual bool has_files(const WindowPosition& position) const { return true; }
  // Sets in `data` the format of the files of the window at `position`. Default: changes nothing.
  virtual void set_format(const WindowPosition& position, DataConfig& data) const {}

  // Called once a durable checkpoint holds all windows up to `position`. Default: does nothing.
  virtual void saved(const WindowPosition& position) {}
  // Returns values to report. Default: none.
  virtual std::vector<StreamFigure> figures() const { return {}; }

  // Returns what the last find() without a window waits for: "files in incoming (3 of 4 are
  // there)".
  virtual const std::string& waits_for() const = 0;
  // Returns a value that changes whenever find() has found something new.
  virtual int64_t seen() const = 0;
};

// Returns the number of rows of a file.
using RowCounter = std::function<absl::StatusOr<int64_t>(const std::string& path)>;

// Returns true if data files may have this name: the name begins neither with . nor with _, does
// not end with .tmp, and matches the shell pattern.
bool is_data_name(const std::string& name, const std::string& pattern);

}  // namespace millrace

#endif  // MILLRACE_IO_WINDOW_WINDOW_SOURCE_H_
