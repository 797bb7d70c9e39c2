// The dataset of files that come in windows.
#ifndef MILLRACE_IO_WINDOW_WINDOWED_FILES_H_
#define MILLRACE_IO_WINDOW_WINDOWED_FILES_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "base/clock.h"
#include "base/mutex.h"
#include "io/dataset.h"
#include "io/epoch/dataset_options.h"
#include "io/hashed_columns.h"
#include "io/names_files.h"
#include "io/window/window_stream.h"
#include "io/windowed_dataset.h"
#include "proto/window_position.pb.h"

namespace millrace {

// The limit of a stream's part of a cursor; about 40 bytes for each file, and 24 KiB of names
// taken.
inline constexpr int64_t kMaxPositionBytes = 60 << 10;

struct WindowedFilesOptions {
  DatasetOptions dataset;  // data.windows says which windows
  // Gives every rank what rank 0 gives (Collectives::broadcast from 0); null: there is one rank.
  std::function<absl::StatusOr<std::string>(absl::string_view)> broadcast;
  Clock* clock = &Clock::real();  // must outlive the dataset
};

// Windows of a WindowStream, each read by its own BatchDataset, whose epoch is the window's index.
// Rank 0 looks for windows, opens each first, and tells the others; docs/windows.md says what it
// finds. A line in the log names the awaited data.
//
// If the data is a mix, each source with windows is a separate stream, and a window of the mix is
// one of each: a MixedDataset of the windows that have rows and of the sources without windows. A
// source whose stream has ended is missing from then on (ALL_END), or ends the whole.
//
// Memory: as one BatchDataset or MixedDataset; nothing grows with the number of windows.
class WindowedFiles : public WindowedDataset, public NamesFiles {
 public:
  // Errors: InvalidArgument without windows; errors of WindowStream::create.
  static absl::StatusOr<std::unique_ptr<WindowedDataset>> create(WindowedFilesOptions options);
  ~WindowedFiles() override;

  absl::Status start_epoch(int64_t epoch) override;
  absl::Status seek(absl::Span<const Cursor> cursors) override;
  absl::StatusOr<std::optional<Batch>> next() override;
  // A failure to open a window is an error naming the window; if data.bad_data is SKIP, the window
  // has no batches instead. Errors also: DataLoss for files that changed since the cursors were
  // written; InvalidArgument for a position of more than kMaxPositionBytes.
  absl::StatusOr<WindowState> next_window() override;
  // True for a list of files.
  bool can_restart() const override;
  absl::StatusOr<std::unique_ptr<Dataset>> open_window_again(
      absl::Span<const std::string> missing_of) override;
  std::vector<std::string> upcoming_files() override;
  void saved(absl::string_view stream) override;
  std::vector<StreamFigure> figures() override;
  // Returns no files, and the columns of the windows that were opened (DataIdentity.column), each
  // as the last window with values has it.
  absl::StatusOr<DataIdentity> identity() const override;
  void cancel() override;
  std::string files_being_read() const override;

 private:
  explicit WindowedFiles(WindowedFilesOptions options) : options_(std::move(options)) {}

  absl::Status make_streams();
  // Returns the epoch of the dataset of a window, which decides its shuffles and samples.
  int64_t epoch_of_window(const WindowPosition& position) const;
  // On rank 0: what comes next, opened.
  absl::StatusOr<WindowAnnouncement> look();
  absl::StatusOr<WindowAnnouncement> told_by_rank_0();
  absl::StatusOr<Found> find_next(WindowPosition& position);
  absl::StatusOr<Found> find_part(size_t part, WindowPosition& position);
  absl::StatusOr<Found> find_next_parts(WindowPosition& position);
  void say_waiting();
  absl::Status check_unchanged(const WindowPosition& position) const;
  absl::Status open_or_leave_out(WindowPosition& position);
  absl::Status count_damaged(WindowPosition& position) const;
  bool leave_out_parts(const absl::Status& why, WindowPosition& position) const;
  absl::Status check_part(size_t part, const WindowPosition& position) const;
  absl::Status open(const WindowPosition& position);
  template <typename Data>
  absl::Status begin(const WindowPosition& position, std::unique_ptr<Data> data);
  bool has_data(const WindowPosition& position) const;
  DatasetOptions plain_options(size_t part, const WindowPosition& position) const;
  DatasetOptions mix_options(const WindowPosition& position) const;
  WindowState ready(WindowPosition position);

  // One of the windows that come together: of a source of the mix, or, where the data is none, the
  // only one.
  struct Part {
    int source = -1;  // of the mix
    DatasetOptions options = {};
    std::unique_ptr<WindowStream> stream = nullptr;
    std::optional<WindowPosition> found = {};  // the next one, while other parts wait for theirs
  };
  bool is_mix() const { return options_.dataset.data.has_mix(); }
  // Returns the part `part` of a mix's position, or the whole position without a mix.
  const WindowPosition& part_of(const WindowPosition& position, size_t part) const {
    return is_mix() ? position.part(static_cast<int>(part)) : position;
  }
  WindowPosition& part_of(WindowPosition& position, size_t part) const {
    return is_mix() ? *position.mutable_part(static_cast<int>(part)) : position;
  }

  const WindowedFilesOptions options_;
  std::vector<Part> parts_;
  int64_t epoch_ = 0;
  WindowPosition position_;           // of the last window; where a stream begins: without an index
  std::string position_bytes_;        // the same
  std::vector<Cursor> seek_cursors_;  // not empty: the next window is position_ again, from these
  bool is_new_ = false;               // the open window: nobody has seen it
  int64_t examples_done_ = 0;         // in the open window, before this run
  HashedColumns hashed_columns_;      // of the windows that were opened
  // The wait for the next window.
  std::optional<absl::Time> waits_since_;
  absl::Duration last_said_ = absl::ZeroDuration();  // the clock's elapsed()

  mutable Mutex mutex_;
  bool cancelled_ ABSL_GUARDED_BY(mutex_) = false;
  // Changed by the one user, under the mutex, since cancel() reads it. Null: no window is open, or
  // one without rows.
  std::unique_ptr<Dataset> open_;
};

}  // namespace millrace

#endif  // MILLRACE_IO_WINDOW_WINDOWED_FILES_H_
