// A window for each step of time, in a separate directory.
#ifndef MILLRACE_IO_WINDOW_TIME_WINDOW_SOURCE_H_
#define MILLRACE_IO_WINDOW_TIME_WINDOW_SOURCE_H_

#include <set>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "io/window/window_source.h"

namespace millrace {

// "2026-01-31T00:00:00Z". Errors: InvalidArgument.
absl::StatusOr<absl::Time> parse_window_time(absl::string_view text);

// Step k is the directory TimeWindows.path at start + k * step_seconds. A step without files is a
// window without files.
class TimeWindowSource : public WindowSource {
 public:
  // REQUIRES: `config` is valid (check_windows()).
  TimeWindowSource(FileSystem& files, const TimeWindows& config);

  absl::StatusOr<Found> find(bool no_more, WindowPosition& position) override;
  std::string path_of(const std::string& name) const override;
  const std::string& waits_for() const override { return waits_for_; }
  int64_t seen() const override { return seen_; }

 private:
  // "dt=20260101/hh=07": below root_.
  std::string name_at(int64_t step) const;
  bool is_over(int64_t step) const;
  absl::StatusOr<bool> is_whole(int64_t step) const;
  // The first of the next steps that is whole; -1: none.
  absl::StatusOr<int64_t> later_whole(int64_t step) const;
  absl::Status take(int64_t step, WindowPosition& position) const;

  FileSystem& files_;
  const TimeWindows config_;
  const absl::Time start_;
  const absl::Time end_;
  std::string root_;           // what of the path is the same for all steps
  std::string form_;           // the rest
  std::set<int64_t> skipped_;  // warned about
  std::string waits_for_;
  int64_t seen_ = 0;
};

}  // namespace millrace

#endif  // MILLRACE_IO_WINDOW_TIME_WINDOW_SOURCE_H_
