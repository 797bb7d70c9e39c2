#include "io/window/list_window_source.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "io/files/file_set.h"

namespace millrace {
namespace {

// So many files are enough for a window that counts files; one that counts rows stops by itself.
constexpr int64_t kLook = 4096;

}  // namespace

absl::StatusOr<std::unique_ptr<WindowSource>> ListWindowSource::create(FileSystem& files,
                                                                       const DataConfig& data,
                                                                       RowCounter count_rows) {
  ASSIGN_OR_RETURN(std::vector<std::string> paths, expand_paths(files, data));
  return std::unique_ptr<WindowSource>(
      new ListWindowSource(std::move(paths), WindowCutter(data.windows(), std::move(count_rows))));
}

absl::StatusOr<Found> ListWindowSource::find(bool, WindowPosition& position) {
  const int64_t count = static_cast<int64_t>(paths_.size());
  const int64_t taken = position.taken_count();
  const bool fits = taken >= 0 && taken <= count &&
                    (taken == 0 || base_name(paths_[taken - 1]) == position.last_name());
  if (!fits) {
    return absl::InvalidArgumentError(
        absl::StrCat("the list of files changed: file ", taken, " was ", position.last_name(),
                     taken > 0 && taken <= count ? ", now it is " + base_name(paths_[taken - 1])
                                                 : absl::StrCat(", now there are ", count)));
  }
  std::vector<WindowEntry> entries;
  for (int64_t i = taken; i < std::min(count, taken + kLook); ++i) {
    entries.push_back({base_name(paths_[i]), {paths_[i]}});
  }
  const bool all = taken + kLook >= count;
  ASSIGN_OR_RETURN(const int64_t used, cutter_.cut(entries, all, position));
  if (used < 0 && all) return Found::kEnded;
  if (used < 0) return absl::InvalidArgumentError("a window of more than 4096 files");
  position.set_taken_count(taken + used);
  // Its files are paths; their folders need not be told.
  position.set_name(window_name(base_name(position.file(0).name()),
                                base_name(position.file(position.file_size() - 1).name())));
  if (used > 0) position.set_last_name(entries[used - 1].name);
  return Found::kWindow;
}

}  // namespace millrace
