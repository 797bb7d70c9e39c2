// One stream of files, traversed by rank 0.
#ifndef MILLRACE_IO_WINDOW_WINDOW_STREAM_H_
#define MILLRACE_IO_WINDOW_WINDOW_STREAM_H_

#include <cstdint>
#include <memory>
#include <set>
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

// The windows of a WindowSource, with repetition and an end when no data arrives, as data.windows
// configures. The windows given out are recorded in the WindowPosition that the owner keeps.
//
//   WindowPosition position;  // where a stream begins: without an index
//   ASSIGN_OR_RETURN(const Found found, stream->next(position));
class WindowStream {
 public:
  // `taken_names`: number of names of a directory that a position keeps. Borrows options.files and
  // `clock`.
  // Errors: those of window_source_registry().create().
  static absl::StatusOr<std::unique_ptr<WindowStream>> create(const DatasetOptions& options,
                                                              Clock& clock, int64_t taken_names);

  // Puts the window that follows into `position`: the same window again, or another, with digests
  // of its files. Without a window `position` does not change. May be called repeatedly for a
  // position.
  // Errors: as WindowSource::find.
  absl::StatusOr<Found> next(WindowPosition& position);
  // Returns the files of the window that next() would find, as far as known; none for a repeated
  // window. Changes nothing.
  std::vector<std::string> upcoming(const WindowPosition& position) const;

  // Checks that the files of a position are unchanged. Errors: DataLoss naming a changed file; as
  // reading files.
  absl::Status check_unchanged(const WindowPosition& position) const;
  std::vector<std::string> paths_of(const WindowPosition& position) const;

  // These call the functions of WindowSource.
  void set_format(const WindowPosition& position, DataConfig& data) const {
    source_->set_format(position, data);
  }
  void saved(const WindowPosition& position) { source_->saved(position); }
  std::vector<StreamFigure> figures() const { return source_->figures(); }

  // Sets whether a caller waits for next(). While a caller waits, windows.idle_seconds count from
  // the last news.
  void set_waiting(bool waits);
  bool waiting() const { return waits_; }
  const std::string& waits_for() const { return source_->waits_for(); }

 private:
  WindowStream(const DatasetOptions& options, Clock& clock) : options_(options), clock_(clock) {}
  bool has_been_idle();
  bool is_skipped(const std::string& name) const;
  void warn_of_unknown_names();
  void add_digests(WindowPosition& position) const;

  const DatasetOptions options_;
  Clock& clock_;
  std::unique_ptr<WindowSource> source_;
  bool waits_ = false;
  bool said_idle_ = false;
  std::set<std::string> skipped_;  // names of windows.skip that came, or of which was warned
  absl::Duration last_news_ = absl::ZeroDuration();  // the clock's elapsed()
  int64_t seen_ = -1;
};

// WindowPosition.damage of a window that windows.skip names.
inline constexpr char kSkippedWindow[] = "left out by windows.skip";

// Returns true if `status` is an error of opening a window that bad_data: SKIP skips.
bool is_window_damage(const absl::Status& status);

}  // namespace millrace

#endif  // MILLRACE_IO_WINDOW_WINDOW_STREAM_H_
