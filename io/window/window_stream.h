// One stream of files, as rank 0 goes through it.
#ifndef MILLRACE_IO_WINDOW_WINDOW_STREAM_H_
#define MILLRACE_IO_WINDOW_WINDOW_STREAM_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "base/clock.h"
#include "io/epoch/dataset_options.h"
#include "io/window/window_source.h"
#include "proto/window_position.pb.h"

namespace millrace {

// The windows of a WindowSource with what data.windows says beside: repetition, and an end when
// nothing comes. What it has given out stands in the WindowPosition that its owner keeps.
//
//   WindowPosition position;  // where a stream begins: without an index
//   ASSIGN_OR_RETURN(const Found found, stream->next(position));
class WindowStream {
 public:
  // `taken_names`: how many of a directory a position keeps. Borrows options.files and `clock`.
  // Errors: those of create_window_source.
  static absl::StatusOr<std::unique_ptr<WindowStream>> create(const DatasetOptions& options,
                                                              Clock& clock, int64_t taken_names);

  // Puts the window that follows into `position`: the same once more, or another, with digests of
  // its files. Without one it stays as it is. May be called for a position again.
  // Errors: those of WindowSource::find.
  absl::StatusOr<Found> next(WindowPosition& position);
  // Files of the window that next() would find, as far as they are known; none of one that is
  // repeated. Changes nothing.
  std::vector<std::string> upcoming(const WindowPosition& position) const;

  // Whether the files of a position are what they were. Errors: DataLoss naming one that is not;
  // those of reading.
  absl::Status check_unchanged(const WindowPosition& position) const;
  std::vector<std::string> paths_of(const WindowPosition& position) const;

  // Whether somebody waits for next(), since when windows.idle_seconds count from the last news.
  void set_waiting(bool waits);
  bool waiting() const { return waits_; }
  const std::string& waits_for() const { return source_->waits_for(); }

 private:
  WindowStream(const DatasetOptions& options, Clock& clock) : options_(options), clock_(clock) {}
  bool has_been_idle() const;
  void add_digests(WindowPosition& position) const;

  const DatasetOptions options_;
  Clock& clock_;
  std::unique_ptr<WindowSource> source_;
  bool waits_ = false;
  absl::Duration last_news_ = absl::ZeroDuration();  // the clock's elapsed()
  int64_t seen_ = -1;
};

// What opening a window may meet that bad_data: SKIP leaves out.
bool is_window_damage(const absl::Status& status);

}  // namespace millrace

#endif  // MILLRACE_IO_WINDOW_WINDOW_STREAM_H_
