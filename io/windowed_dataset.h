// Data that comes in windows: bounded pieces of a stream.
#ifndef MILLRACE_IO_WINDOWED_DATASET_H_
#define MILLRACE_IO_WINDOWED_DATASET_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "io/dataset.h"

namespace millrace {

// A bounded piece of a stream.
struct Window {
  int64_t index = 0;          // counts from 0 over all resumes
  std::string name;           // a file, a directory, a time span
  int64_t examples_done = 0;  // of this rank, before this run: not 0 where a resume continues in it
  // Which window it is and where the stream stands behind it: StreamPosition::bytes in it and after
  // it. Only the dataset understands it.
  std::string stream = "";
  // Files that no window after this one reads.
  std::vector<std::string> files = {};
  std::string damage = "";  // why it has no examples, where damaged data is left out; else ""
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

// start_epoch begins the stream, seek goes on in it; next() then gives nothing until a window is
// ready. After seek, that is the window of the cursors (StreamPosition::window) with what they
// leave of it, which may be nothing, or, where they say that it is finished, the one that follows.
class WindowedDataset : public Dataset {
 public:
  // Opens the next window if there is one; what is left of the one before is dropped. Never blocks
  // for data. Collective: every rank calls it at the same point and gets the same state, or an
  // error; rank 0 looks for windows and tells the others. Errors: those of Dataset::next.
  virtual absl::StatusOr<WindowState> next_window() = 0;

  // The open window once more, from its begin, for evaluating before anything of it is trained on.
  // Null if it has no examples, was given before, or is continued; that is the same on all ranks.
  virtual absl::StatusOr<std::unique_ptr<Dataset>> open_window_again() {
    return std::unique_ptr<Dataset>();
  }

  // Files of the window that would follow now, for whoever wants to read them ahead; on rank 0, and
  // as far as it is known. Changes nothing.
  virtual std::vector<std::string> upcoming_files() { return {}; }
};

}  // namespace millrace

#endif  // MILLRACE_IO_WINDOWED_DATASET_H_
