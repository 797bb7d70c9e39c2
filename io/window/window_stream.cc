#include "io/window/window_stream.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/hash.h"
#include "base/log.h"
#include "base/status_macros.h"
#include "io/data_identity.h"
#include "io/file_reader.h"
#include "io/window/window_source_registry.h"

namespace millrace {
namespace {

// Largest size of a file whose digest covers all bytes, and the most bytes of a window that digests
// read in whole files.
constexpr int64_t kWholeBytes = 16 << 20;
constexpr int64_t kWholeWindowBytes = 256 << 20;

absl::StatusOr<uint64_t> digest_of(FileSystem& files, const std::string& path,
                                   int64_t whole_bytes) {
  ASSIGN_OR_RETURN(const DataIdentity identity,
                   data_identity(files, {path}, /*may_be_missing=*/false, whole_bytes));
  return xxh3(absl::StrCat(identity.file(0).size(), " ", identity.file(0).end_digest()));
}

// Returns the number of files that were given before the first file of the window after `position`.
int64_t count_files_given(const WindowPosition& position) {
  return position.files_before() + std::max(0, position.file_size() - position.rest_files());
}

// No rows for an omitted file.
absl::StatusOr<int64_t> rows_of(const std::string& path, const DatasetOptions& options) {
  const auto file = open_file(*options.files, path, options.data);
  const bool leaves_out = options.data.bad_data() == DataConfig::SKIP;
  if (!file.ok() && is_window_damage(file.status()) && leaves_out) return 0;
  RETURN_IF_ERROR(file.status());
  int64_t rows = 0;
  for (const int64_t count : (*file)->group_rows()) rows += count;
  return rows;
}

}  // namespace

bool is_window_damage(const absl::Status& status) {
  return absl::IsDataLoss(status) || absl::IsNotFound(status) || absl::IsInvalidArgument(status) ||
         absl::IsFailedPrecondition(status);
}

absl::StatusOr<std::unique_ptr<WindowStream>> WindowStream::create(const DatasetOptions& options,
                                                                   Clock& clock,
                                                                   int64_t taken_names) {
  std::unique_ptr<WindowStream> stream(new WindowStream(options, clock));
  const DatasetOptions& own = stream->options_;
  const auto count_rows = [&own](const std::string& path) { return rows_of(path, own); };
  ASSIGN_OR_RETURN(
      stream->source_,
      window_source_registry().create(
          own.data.windows(), WindowSourceInput{own.files, own.data, count_rows}, taken_names));
  return stream;
}

absl::StatusOr<Found> WindowStream::next(WindowPosition& position) {
  const bool begins = !position.has_index();
  if (!begins && !position.last_repeat()) {
    position.set_repeat(position.repeat() + 1);
  } else {
    const int64_t given = count_files_given(position);
    ASSIGN_OR_RETURN(const Found found, source_->find(has_been_idle(), position));
    if (source_->seen() != std::exchange(seen_, source_->seen())) {
      last_news_ = clock_.elapsed();
      said_idle_ = false;
    }
    if (found == Found::kEnded) warn_of_unknown_names();
    if (found != Found::kWindow) return found;
    position.clear_repeat();
    position.clear_damage();
    if (is_skipped(position.name())) {
      MILLRACE_LOG(INFO) << "window " << position.name() << " is left out (windows.skip)";
      position.set_damage(kSkippedWindow);
      skipped_.insert(position.name());
    }
    position.set_files_before(given);
    add_digests(position);
  }
  position.set_index(begins ? 0 : position.index() + 1);
  position.set_last_repeat(position.repeat() + 1 >= options_.data.windows().repeat());
  return Found::kWindow;
}

std::vector<std::string> WindowStream::upcoming(const WindowPosition& position) const {
  if (position.has_index() && !position.last_repeat()) return {};
  WindowPosition next = position;
  const absl::StatusOr<Found> found = source_->look_ahead(next);
  if (!found.ok() || *found != Found::kWindow) return {};
  return paths_of(next);
}

// A file that cannot be read gets no digest; opening it says why.
void WindowStream::add_digests(WindowPosition& position) const {
  if (!source_->has_files(position)) return;
  const int64_t share = kWholeWindowBytes / std::max(1, position.file_size());
  position.set_whole_bytes(std::min(kWholeBytes, share));
  for (WindowPosition::File& file : *position.mutable_file()) {
    const auto digest =
        digest_of(*options_.files, source_->path_of(file.name()), position.whole_bytes());
    if (digest.ok()) file.set_digest(*digest);
  }
}

absl::Status WindowStream::check_unchanged(const WindowPosition& position) const {
  if (!source_->has_files(position)) return absl::OkStatus();
  for (const WindowPosition::File& file : position.file()) {
    const std::string path = source_->path_of(file.name());
    ASSIGN_OR_RETURN(const uint64_t digest,
                     digest_of(*options_.files, path, position.whole_bytes()));
    if (!file.has_digest() || digest == file.digest()) continue;
    return absl::DataLossError(
        absl::StrCat(path,
                     " changed since training stopped within its window; put back what it was, "
                     "or remove the newest checkpoint to resume from the previous one"));
  }
  return absl::OkStatus();
}

std::vector<std::string> WindowStream::paths_of(const WindowPosition& position) const {
  std::vector<std::string> paths;
  for (const WindowPosition::File& file : position.file()) {
    paths.push_back(source_->path_of(file.name()));
  }
  return paths;
}

bool WindowStream::is_skipped(const std::string& name) const {
  const auto& skip = options_.data.windows().skip();
  return std::find(skip.begin(), skip.end(), name) != skip.end();
}

// A name that was mistyped protects from nothing.
void WindowStream::warn_of_unknown_names() {
  for (const std::string& name : options_.data.windows().skip()) {
    if (skipped_.insert(name).second) {
      MILLRACE_LOG(WARNING) << "windows.skip: no window of this run has the name " << name;
    }
  }
}

void WindowStream::set_waiting(bool waits) {
  if (waits && !waits_) last_news_ = std::max(last_news_, clock_.elapsed());
  waits_ = waits;
}

bool WindowStream::has_been_idle() {
  const double limit = options_.data.windows().idle_seconds();
  if (limit <= 0 || !waits_) return false;
  const absl::Duration idle = clock_.elapsed() - last_news_;
  if (idle < absl::Seconds(limit)) return false;
  if (!std::exchange(said_idle_, true)) {
    MILLRACE_LOG(WARNING) << "nothing came for "
                          << absl::FormatDuration(absl::Trunc(idle, absl::Seconds(1)))
                          << " (windows.idle_seconds): the stream ends with what is there";
  }
  return true;
}

}  // namespace millrace
