// Windows of what arrives in a directory.
#ifndef MILLRACE_IO_WINDOW_DIRECTORY_WINDOW_SOURCE_H_
#define MILLRACE_IO_WINDOW_DIRECTORY_WINDOW_SOURCE_H_

#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "io/window/window_cutter.h"
#include "io/window/window_source.h"

namespace millrace {

// Maximum number of names, kept as hashes, in the position of a single stream.
inline constexpr int64_t kTakenNames = 3072;

// Takes names in ascending order. See docs/windows.md on when a file counts, on late names and on
// the end. What is known of older names than a position keeps is what the first find() saw, and
// grows with the directory only.
class DirectoryWindowSource : public WindowSource {
 public:
  // Borrows `files`. `taken_names`: how many a position keeps. REQUIRES: `windows` is valid
  // (check_windows()), with a directory.
  DirectoryWindowSource(FileSystem& files, const WindowsConfig& windows, RowCounter count_rows,
                        int64_t taken_names = kTakenNames);

  absl::StatusOr<Found> find(bool no_more, WindowPosition& position) override;
  std::string path_of(const std::string& name) const override;
  const std::string& waits_for() const override { return waits_for_; }
  int64_t seen() const override { return seen_; }

 private:
  struct Listing {
    std::vector<DirectoryEntry> entries;  // that count, or may: directories are not looked into
    bool ended = false;                   // the end marker is there
  };
  // The result of look(). Later finds take windows from it as long as the directory is not modified
  // and a window is left; then the directory is listed again, also with an unchanged time, since
  // some mounts keep no times.
  struct Look {
    bool ended = false;
    std::vector<WindowEntry> entries;                  // to take after `since`, in their order
    absl::flat_hash_map<uint64_t, std::string> names;  // hash → name of all entries
    std::string since;                                 // last_name of the position
    // Time of the last change before the listing; InfiniteFuture: not for later finds.
    absl::Time modified = absl::InfiniteFuture();
  };

  absl::StatusOr<Listing> list() const;
  // Lists the directory. Returns a look at all that is there to take. `modified`: the result of
  // settled_time() before the call.
  absl::StatusOr<Look> look(const WindowPosition& position, absl::Time modified);
  absl::Status look_again(const WindowPosition& position, absl::Time modified);
  // Cuts the window after `position` from last_look_.
  absl::StatusOr<Found> take(bool no_more, WindowPosition& position);
  // Returns true if last_look_ is valid for this position too. `modified`: the result of
  // settled_time().
  bool holds(const WindowPosition& position, absl::Time modified) const;
  // Returns the time of the last change of the directory; InfiniteFuture: not known, or so short
  // ago that a further change might have the same time.
  absl::Time settled_time();
  // Returns the names that are neither taken nor omitted, in the order to take.
  absl::StatusOr<std::vector<WindowEntry>> entries_to_take(const Listing& listing,
                                                           const WindowPosition& position);
  absl::Status check_late_name(const std::string& name, const WindowPosition& position);
  void assume_taken(const Listing& listing, const WindowPosition& position);
  // Adds the files of one, if it counts.
  absl::Status add_entry(const DirectoryEntry& entry, std::vector<WindowEntry>* entries) const;
  void forget_what_is_gone();
  void remember(absl::Span<const WindowEntry> taken, WindowPosition& position);

  FileSystem& files_;
  const DirectoryWindows config_;
  const int64_t taken_names_;
  WindowCutter cutter_;
  bool has_listed_ = false;
  Look last_look_;
  bool has_times_ = true;  // false: the file system does not know times of directories
  // Names, by their hashes, that were taken and that no position keeps any longer.
  absl::flat_hash_set<uint64_t> forgotten_;
  std::set<std::string> left_out_;  // late ones
  std::string waits_for_;
  int64_t seen_ = 0;
};

}  // namespace millrace

#endif  // MILLRACE_IO_WINDOW_DIRECTORY_WINDOW_SOURCE_H_
