#include "io/window/directory_window_source.h"

#include <algorithm>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "base/hash.h"
#include "base/log.h"
#include "base/status_macros.h"

namespace millrace {
namespace {

constexpr char kWhole[] = "_SUCCESS";  // in a directory

// A change of a directory within this time of another may have the same time.
constexpr absl::Duration kSettled = absl::Seconds(2);

}  // namespace

DirectoryWindowSource::DirectoryWindowSource(FileSystem& files, const WindowsConfig& windows,
                                             RowCounter count_rows, int64_t taken_names)
    : files_(files),
      config_(windows.directory()),
      taken_names_(taken_names),
      cutter_(windows,
              [this, count_rows](const std::string& name) { return count_rows(path_of(name)); }) {}

std::string DirectoryWindowSource::path_of(const std::string& name) const {
  return join_path(config_.path(), name);
}

absl::Time DirectoryWindowSource::settled_time() {
  if (!has_times_) return absl::InfiniteFuture();
  const absl::StatusOr<FileInfo> info = files_.info(config_.path());
  if (!info.ok()) return absl::InfiniteFuture();
  has_times_ = info->modified != absl::InfiniteFuture();
  return info->modified < absl::Now() - kSettled ? info->modified : absl::InfiniteFuture();
}

bool DirectoryWindowSource::holds(const WindowPosition& position, absl::Time modified) const {
  return last_look_.modified != absl::InfiniteFuture() &&
         position.last_name() >= last_look_.since && modified == last_look_.modified;
}

absl::StatusOr<DirectoryWindowSource::Look> DirectoryWindowSource::look(
    const WindowPosition& position, absl::Time modified) {
  Look look;
  look.since = position.last_name();
  look.modified = modified;
  ASSIGN_OR_RETURN(Listing listing, list());
  // Files that arrived during the first listing may be missing from the listing although the marker
  // is present.
  if (listing.ended) {
    ASSIGN_OR_RETURN(listing, list());
  }
  if (!has_listed_) assume_taken(listing, position);
  has_listed_ = true;
  ASSIGN_OR_RETURN(look.entries, entries_to_take(listing, position));
  if (!listing.ended && !look.entries.empty()) {
    // For the same reason, now that there is something to take. All that came before the last name
    // is in a listing begun after that name was seen; of what came behind it, some may be missing.
    const std::string last = listing.entries.back().name;
    ASSIGN_OR_RETURN(listing, list());
    listing.entries.erase(
        std::upper_bound(listing.entries.begin(), listing.entries.end(), last,
                         [](const std::string& a, const DirectoryEntry& b) { return a < b.name; }),
        listing.entries.end());
    ASSIGN_OR_RETURN(look.entries, entries_to_take(listing, position));
  }
  look.ended = listing.ended;
  for (const DirectoryEntry& entry : listing.entries) {
    look.names.emplace(xxh3(entry.name), entry.name);
    // A later find must look into directories again.
    if (entry.kind == FileKind::kDirectory) look.modified = absl::InfiniteFuture();
  }
  const bool late = !look.entries.empty() && look.entries.front().name <= look.since;
  if (late) look.modified = absl::InfiniteFuture();
  return look;
}

absl::Status DirectoryWindowSource::look_again(const WindowPosition& position,
                                               absl::Time modified) {
  ASSIGN_OR_RETURN(last_look_, look(position, modified));
  forget_what_is_gone();
  return absl::OkStatus();
}

absl::StatusOr<Found> DirectoryWindowSource::find(bool no_more, WindowPosition& position) {
  const absl::Time modified = settled_time();
  if (!no_more && holds(position, modified)) {
    ASSIGN_OR_RETURN(const Found found, take(/*no_more=*/false, position));
    if (found == Found::kWindow) return found;
  }
  RETURN_IF_ERROR(look_again(position, modified));
  return take(no_more || last_look_.ended, position);
}

absl::StatusOr<Found> DirectoryWindowSource::take(bool no_more, WindowPosition& position) {
  seen_ = static_cast<int64_t>(last_look_.names.size());
  absl::Span<const WindowEntry> entries = last_look_.entries;
  if (last_look_.modified != absl::InfiniteFuture()) {
    const auto next =
        std::upper_bound(entries.begin(), entries.end(), position.last_name(),
                         [](const std::string& a, const WindowEntry& b) { return a < b.name; });
    entries.remove_prefix(static_cast<size_t>(next - entries.begin()));
  }
  ASSIGN_OR_RETURN(const int64_t used, cutter_.cut(entries, no_more, position));
  if (used < 0) {
    waits_for_ = absl::StrCat("files in ", config_.path(), " (", cutter_.progress(), ")");
    return no_more ? Found::kEnded : Found::kNotYet;
  }
  position.clear_late();
  for (const WindowEntry& entry : entries.subspan(static_cast<size_t>(used))) {
    if (entry.name > position.forgotten()) break;
    position.add_late(entry.name);
  }
  remember(entries.first(static_cast<size_t>(used)), position);
  return Found::kWindow;
}

absl::StatusOr<DirectoryWindowSource::Listing> DirectoryWindowSource::list() const {
  ASSIGN_OR_RETURN(std::vector<DirectoryEntry> all, files_.list(config_.path()),
                   "the directory of windows");
  absl::flat_hash_set<std::string> done;  // files whose mark is there
  const std::string& suffix = config_.done_suffix();
  Listing listing;
  for (const DirectoryEntry& entry : all) {
    listing.ended |= !config_.end_marker().empty() && entry.name == config_.end_marker();
    if (!suffix.empty() && absl::EndsWith(entry.name, suffix)) {
      done.insert(entry.name.substr(0, entry.name.size() - suffix.size()));
    }
  }
  for (DirectoryEntry& entry : all) {
    const bool is_mark = !suffix.empty() && absl::EndsWith(entry.name, suffix);
    const bool needs_mark = !suffix.empty() && entry.kind != FileKind::kDirectory;
    if (is_mark || entry.name == config_.end_marker() ||
        (needs_mark && done.count(entry.name) == 0) ||
        !is_data_name(entry.name, config_.pattern())) {
      continue;
    }
    listing.entries.push_back(std::move(entry));
  }
  return listing;
}

// Assumes that names up to position.forgotten(), which `taken` no longer holds, were taken, except
// names that the position lists as late.
void DirectoryWindowSource::assume_taken(const Listing& listing, const WindowPosition& position) {
  for (const DirectoryEntry& entry : listing.entries) {
    const bool late = std::find(position.late().begin(), position.late().end(), entry.name) !=
                      position.late().end();
    if (!late && entry.name <= position.forgotten()) forgotten_.insert(xxh3(entry.name));
  }
}

absl::StatusOr<std::vector<WindowEntry>> DirectoryWindowSource::entries_to_take(
    const Listing& listing, const WindowPosition& position) {
  const absl::flat_hash_set<uint64_t> taken(position.taken().begin(), position.taken().end());
  std::vector<WindowEntry> entries;
  for (const DirectoryEntry& entry : listing.entries) {
    const uint64_t hash = xxh3(entry.name);
    if (taken.count(hash) > 0 || forgotten_.count(hash) > 0) continue;
    const size_t before = entries.size();
    RETURN_IF_ERROR(add_entry(entry, &entries));
    if (entries.size() == before || entry.name > position.last_name()) continue;
    RETURN_IF_ERROR(check_late_name(entry.name, position));
    if (config_.late() == DirectoryWindows::SKIP) entries.pop_back();
  }
  return entries;
}

absl::Status DirectoryWindowSource::check_late_name(const std::string& name,
                                                    const WindowPosition& position) {
  const std::string what =
      absl::StrCat(path_of(name), " came late: ", position.last_name(), " was taken before");
  switch (config_.late()) {
    case DirectoryWindows::FAIL:
      return absl::DataLossError(
          absl::StrCat(what,
                       " (windows.directory.late: FAIL). Remove it to continue; a new job may set "
                       "SKIP or TAKE"));
    case DirectoryWindows::SKIP:
      if (left_out_.insert(name).second) MILLRACE_LOG(WARNING) << what << "; it is left out";
      break;
    case DirectoryWindows::TAKE: break;
  }
  return absl::OkStatus();
}

absl::Status DirectoryWindowSource::add_entry(const DirectoryEntry& entry,
                                              std::vector<WindowEntry>* entries) const {
  if (entry.kind != FileKind::kDirectory) {
    entries->push_back({entry.name, {entry.name}});
    return absl::OkStatus();
  }
  const auto inside = files_.list(path_of(entry.name));
  if (absl::IsNotFound(inside.status())) return absl::OkStatus();  // removed just now
  RETURN_IF_ERROR(inside.status());
  WindowEntry whole{entry.name, {}};
  bool marked = false;
  for (const DirectoryEntry& file : *inside) {
    marked |= file.name == kWhole;
    if (file.kind == FileKind::kDirectory || !is_data_name(file.name, "*")) continue;
    whole.files.push_back(absl::StrCat(entry.name, "/", file.name));
  }
  if (marked) entries->push_back(std::move(whole));
  return absl::OkStatus();
}

// Names that are gone need not be known.
void DirectoryWindowSource::forget_what_is_gone() {
  absl::flat_hash_set<uint64_t> still_forgotten;
  for (const uint64_t hash : forgotten_) {
    if (last_look_.names.contains(hash)) still_forgotten.insert(hash);
  }
  forgotten_ = std::move(still_forgotten);
}

// Adds the names of a window to the position, which keeps the newest names that are there.
void DirectoryWindowSource::remember(absl::Span<const WindowEntry> taken,
                                     WindowPosition& position) {
  std::vector<uint64_t> kept;
  for (const uint64_t hash : position.taken()) {
    if (last_look_.names.contains(hash)) kept.push_back(hash);
  }
  for (const WindowEntry& entry : taken) {
    kept.push_back(xxh3(entry.name));
    if (entry.name > position.last_name()) position.set_last_name(entry.name);
  }
  const auto excess = std::max<int64_t>(0, static_cast<int64_t>(kept.size()) - taken_names_);
  for (int64_t i = 0; i < excess; ++i) {
    forgotten_.insert(kept[i]);
    const std::string& name = last_look_.names[kept[i]];
    if (name > position.forgotten()) position.set_forgotten(name);
  }
  *position.mutable_taken() = {kept.begin() + excess, kept.end()};
}

}  // namespace millrace
