#include "io/window/list_window_source.h"

#include <algorithm>
#include <optional>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/hash.h"
#include "base/status_macros.h"
#include "io/files/file_set.h"

namespace millrace {
namespace {

// Number of files that suffices for a window of files; a window of rows ends by itself.
constexpr int64_t kLook = 4096;

// A folder that was moved.
struct Move {
  std::string from, to;  // with the slash at the end
};

// Returns the move of a folder with all `paths` after which `before` is `now`; none if there is no
// such move.
std::optional<Move> find_move(const std::string& before, const std::string& now,
                              const std::vector<std::string>& paths) {
  size_t folder = now.size();  // of the part of `now` that is new
  for (size_t same = 0; same < std::min(before.size(), now.size()); ++same) {
    if (before[before.size() - 1 - same] != now[now.size() - 1 - same]) break;
    if (same + 1 == now.size() || now[now.size() - 2 - same] == '/') folder = now.size() - 1 - same;
  }
  const Move move{before.substr(0, before.size() - (now.size() - folder)), now.substr(0, folder)};
  const bool has_all = std::all_of(paths.begin(), paths.end(), [&](const auto& path) {
    return absl::StartsWith(path, move.to);
  });
  if (folder == now.size() || !has_all) return std::nullopt;
  return move;
}

// Returns the hash that the first `count` paths had before the move.
uint64_t digest_before(const Move& move, const std::vector<std::string>& paths, int64_t count) {
  uint64_t digest = 0;
  for (int64_t i = 0; i < count; ++i) {
    digest = xxh3(absl::StrCat(move.from, paths[i].substr(move.to.size())), digest);
  }
  return digest;
}

}  // namespace

absl::StatusOr<std::unique_ptr<WindowSource>> ListWindowSource::create(FileSystem& files,
                                                                       const DataConfig& data,
                                                                       RowCounter count_rows) {
  ASSIGN_OR_RETURN(std::vector<std::string> paths, expand_paths(files, data));
  return std::unique_ptr<WindowSource>(
      new ListWindowSource(std::move(paths), WindowCutter(data.windows(), std::move(count_rows))));
}

uint64_t ListWindowSource::digest_of(int64_t count) {
  if (count < digested_) digested_ = 0, digest_ = 0;
  for (; digested_ < count; ++digested_) digest_ = xxh3(paths_[digested_], digest_);
  return digest_;
}

absl::Status ListWindowSource::check_taken(const WindowPosition& position) {
  const int64_t count = static_cast<int64_t>(paths_.size());
  const int64_t taken = position.taken_count();
  if (taken == 0) return absl::OkStatus();
  const std::string& before =
      position.has_last_path() ? position.last_path() : position.last_name();
  const std::string changed =
      absl::StrCat("the list of files changed: file ", taken, " was ", before);
  if (taken < 0 || taken > count) {
    return absl::InvalidArgumentError(absl::StrCat(changed, ", now there are ", count));
  }
  const std::string& now = paths_[taken - 1];
  const bool is_known = position.has_last_path();
  const std::optional<Move> move =
      is_known && now != before ? find_move(before, now, paths_) : std::nullopt;
  const bool fits = is_known ? now == before || move.has_value() : base_name(now) == before;
  if (!fits) return absl::InvalidArgumentError(absl::StrCat(changed, ", now it is ", now));
  if (!is_known) return absl::OkStatus();
  const uint64_t digest = move ? digest_before(*move, paths_, taken) : digest_of(taken);
  if (digest == position.taken_digest()) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat(changed, move ? absl::StrCat(", now it is ", now) : ", and still is",
                   ", but one of the files before it is another"));
}

absl::StatusOr<Found> ListWindowSource::find(bool, WindowPosition& position) {
  const int64_t count = static_cast<int64_t>(paths_.size());
  const int64_t taken = position.taken_count();
  RETURN_IF_ERROR(check_taken(position));
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
  if (used > 0) {
    position.set_last_name(entries[used - 1].name);
    position.set_last_path(paths_[taken + used - 1]);
    position.set_taken_digest(digest_of(taken + used));
  }
  return Found::kWindow;
}

}  // namespace millrace
