// Cuts a sequence of files into windows of a given number of files or rows.
#ifndef MILLRACE_IO_WINDOW_WINDOW_CUTTER_H_
#define MILLRACE_IO_WINDOW_WINDOW_CUTTER_H_

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "io/window/window_source.h"
#include "proto/config.pb.h"
#include "proto/window_position.pb.h"

namespace millrace {

// A unit that counts as one file: a file, or a directory with its files. Names are those of
// WindowPosition::File.
struct WindowEntry {
  std::string name;
  std::vector<std::string> files;
};

// A window of several is named after the first and the last.
std::string window_name(const std::string& first, const std::string& last);

class WindowCutter {
 public:
  // Row counts are asked for once for each file, and only if `windows` counts rows.
  WindowCutter(const WindowsConfig& windows, RowCounter count_rows)
      : files_(windows.files()), rows_(windows.rows()), count_rows_(std::move(count_rows)) {}

  // The window after `position`, made of the rest of its files, if there is one, and then of
  // `entries` in their order. Returns: how many of the entries are taken, with name, file and what
  // is said of rows set; -1 with nothing set if there is nothing, or too little and `no_more` is
  // false.
  absl::StatusOr<int64_t> cut(absl::Span<const WindowEntry> entries, bool no_more,
                              WindowPosition& position);

  // "3 of 4 are there", of the last cut that returned -1.
  const std::string& progress() const { return progress_; }

 private:
  int64_t cut_files(absl::Span<const WindowEntry> entries, bool no_more, WindowPosition& position);
  absl::StatusOr<int64_t> cut_rows(absl::Span<const WindowEntry> entries, bool no_more,
                                   WindowPosition& position);
  absl::StatusOr<int64_t> rows_of(const std::string& file);

  const int64_t files_;
  const int64_t rows_;
  const RowCounter count_rows_;
  std::map<std::string, int64_t> counted_;  // of files that are not all taken
  std::string progress_;
};

}  // namespace millrace

#endif  // MILLRACE_IO_WINDOW_WINDOW_CUTTER_H_
