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

// What a cursor may hold of a stream; about 40 bytes for each file, and 24 KiB of names taken.
inline constexpr int64_t kMaxPositionBytes = 60 << 10;

struct WindowedFilesOptions {
  DatasetOptions dataset;  // data.windows says which windows
  // Gives every rank what rank 0 gives (Collectives::broadcast from 0); null: there is one rank.
  std::function<absl::StatusOr<std::string>(absl::string_view)> broadcast;
  Clock* clock = &Clock::real();  // must outlive the dataset
};

// Windows of a WindowStream, each read by a BatchDataset of its own, whose epoch is the window's
// index. Rank 0 looks for windows, opens each first, and tells the others; docs/windows.md says
// what it finds. A line in its log says what it waits for.
//
// Where the data is a mix, each source with windows is a stream of its own, and a window of the mix
// is one of each: a MixedDataset of those that have rows and of the sources that come without
// windows. A source whose stream has ended is missing from then on (ALL_END), or ends the whole.
//
// Memory: that of one BatchDataset or MixedDataset; nothing grows with the number of windows.
class WindowedFiles : public WindowedDataset, public NamesFiles {
 public:
  // Errors: InvalidArgument without windows; those of WindowStream::create.
  static absl::StatusOr<std::unique_ptr<WindowedDataset>> create(WindowedFilesOptions options);
  ~WindowedFiles() override;

  absl::Status start_epoch(int64_t epoch) override;
  absl::Status seek(absl::Span<const Cursor> cursors) override;
  absl::StatusOr<std::optional<Batch>> next() override;
  // A window that cannot be opened is an error that names it, or, where data.bad_data is SKIP, one
  // without batches. Errors also: DataLoss for files that changed since the cursors were written;
  // InvalidArgument for a position of more than kMaxPositionBytes.
  absl::StatusOr<WindowState> next_window() override;
  absl::StatusOr<std::unique_ptr<Dataset>> open_window_again() override;
  std::vector<std::string> upcoming_files() override;
  // Returns no files, and the columns of the windows that were opened (DataIdentity.column), each
  // as the last window with values has it.
  absl::StatusOr<DataIdentity> identity() const override;
  void cancel() override;
  std::string files_being_read() const override;

 private:
  explicit WindowedFiles(WindowedFilesOptions options) : options_(std::move(options)) {}

  absl::Status make_streams();
  // On rank 0: what comes next, opened.
  absl::StatusOr<WindowAnnouncement> look();
  absl::StatusOr<WindowAnnouncement> told_by_rank_0();
  absl::StatusOr<Found> find_next(WindowPosition& position);
  absl::StatusOr<Found> find_part(size_t part, WindowPosition& position);
  absl::StatusOr<Found> find_next_parts(WindowPosition& position);
  void say_waiting();
  absl::Status check_unchanged(const WindowPosition& position) const;
  absl::Status open_or_leave_out(WindowPosition& position);
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
  // Of a position, what is of one part.
  const WindowPosition& part_of(const WindowPosition& position, size_t part) const {
    return is_mix() ? position.part(static_cast<int>(part)) : position;
  }
  WindowPosition& part_of(WindowPosition& position, size_t part) const {
    return is_mix() ? *position.mutable_part(static_cast<int>(part)) : position;
  }

  const WindowedFilesOptions options_;
  std::vector<Part> parts_;
  int64_t epoch_ = 0;
  WindowPosition position_;       // of the last window; where a stream begins: without an index
  std::string position_bytes_;    // the same
  std::vector<Cursor> sought_;    // the next window is position_ again, from there
  bool is_new_ = false;           // the open window: nobody has seen it
  int64_t examples_done_ = 0;     // in the open window, before this run
  HashedColumns hashed_columns_;  // of the windows that were opened
  // What is waited for.
  std::optional<absl::Time> waits_since_;
  absl::Duration last_said_ = absl::ZeroDuration();  // the clock's elapsed()

  mutable Mutex mutex_;
  bool cancelled_ ABSL_GUARDED_BY(mutex_) = false;
  // Changed by the one user, under the mutex, since cancel() looks at it. Null: no window is open,
  // or one without rows.
  std::unique_ptr<Dataset> open_;
};

}  // namespace millrace

#endif  // MILLRACE_IO_WINDOW_WINDOWED_FILES_H_
