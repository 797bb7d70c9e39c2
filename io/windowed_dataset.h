// Data that comes in windows: bounded pieces of a stream.
#ifndef MILLRACE_IO_WINDOWED_DATASET_H_
#define MILLRACE_IO_WINDOWED_DATASET_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "io/dataset.h"
#include "io/stream_figure.h"

namespace millrace {

// A bounded piece of a stream.
struct Window {
  int64_t index = 0;          // counts from 0 over all resumes
  std::string name;           // a file, a directory, a time span
  int64_t examples_done = 0;  // of this rank, before this run: not 0 where a resume continues in it
  // StreamPosition::bytes within and after the window: identifies the window and the position of
  // the stream after the window. Opaque to all but the dataset.
  std::string stream = "";
  // Files that no later window reads.
  std::vector<std::string> files = {};
  std::string damage = "";  // why it has no examples, where damaged data is left out; else ""
  bool is_new = false;      // it was never given before, and nothing of it was trained on
};

struct WindowState {
  enum Kind {
    kReady,   // `window` is open: next() gives its batches, then none
    kNotYet,  // ask again later
    kEnded,   // there will be no more
  };
  Kind kind = kNotYet;
  Window window;  // of kReady
};

// A dataset whose data arrives in windows. start_epoch begins the stream and seek resumes within
// the stream; afterwards next() returns no batch until a window is ready. After seek, the first
// window is the window of the cursors (StreamPosition::window) with the rows left by the cursors,
// possibly none. If the cursors mark that window as finished, the first window is the following
// window.
class WindowedDataset : public Dataset {
 public:
  // Opens the next window if one is ready, and drops the rest of the previous window. Never blocks
  // for data. Collective: every rank calls it at the same point and gets the same state, or an
  // error; rank 0 finds the windows and sends the result to the other ranks. Errors: as
  // Dataset::next.
  virtual absl::StatusOr<WindowState> next_window() = 0;

  // Returns true if start_epoch() after the end of the stream begins it again, as with a fixed list
  // of files. The default implementation returns false.
  virtual bool can_restart() const { return false; }

  // Returns the open window again, from its beginning, for evaluation before training on the
  // window. Its batches have further columns, DatasetOptions::missing_of. Returns null if the
  // window has no examples, was returned before, or is resumed; all ranks get the same result. The
  // default implementation returns null.
  virtual absl::StatusOr<std::unique_ptr<Dataset>> open_window_again(
      absl::Span<const std::string> missing_of) {
    return std::unique_ptr<Dataset>();
  }

  // Returns the files of the window that would follow now, for reading ahead; on rank 0, and as far
  // as the window is known. Changes nothing. The default implementation returns no files.
  virtual std::vector<std::string> upcoming_files() { return {}; }

  // Tells that a durable checkpoint holds all up to the end of the window with this
  // Window::stream. Called on rank 0. The default implementation does nothing.
  virtual void saved(absl::string_view stream) {}

  // Returns values of this rank about the position of the stream. The default implementation
  // returns none.
  virtual std::vector<StreamFigure> figures() { return {}; }
};

}  // namespace millrace

#endif  // MILLRACE_IO_WINDOWED_DATASET_H_
