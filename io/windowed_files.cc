#include "io/windowed_files.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/hash.h"
#include "base/log.h"
#include "base/status_macros.h"
#include "io/create_window_source.h"
#include "io/data_identity.h"
#include "io/file_reader.h"

namespace millrace {
namespace {

constexpr absl::Duration kSayAgain = absl::Minutes(5);

// A pattern for expand_paths that this path alone matches.
std::string literal(const std::string& path) {
  if (path.find_first_of("*?[{") == std::string::npos) return path;
  std::string pattern;
  for (const char c : path) {
    const bool special = absl::string_view("*?[]{},\\").find(c) != absl::string_view::npos;
    absl::StrAppend(&pattern, special ? "\\" : "", absl::string_view(&c, 1));
  }
  return pattern;
}

absl::StatusOr<uint64_t> digest_of(FileSystem& files, const std::string& path) {
  ASSIGN_OR_RETURN(const DataIdentity identity, data_identity(files, {path}));
  return xxh3(absl::StrCat(identity.file(0).size(), " ", identity.file(0).end_digest()));
}

// What opening a window may meet that bad_data: SKIP leaves out.
bool is_damage(const absl::Status& status) {
  return absl::IsDataLoss(status) || absl::IsNotFound(status) || absl::IsInvalidArgument(status) ||
         absl::IsFailedPrecondition(status);
}

// Data of which every epoch is the one that training makes of a window, with its sample.
class OneEpoch : public Dataset {
 public:
  OneEpoch(std::unique_ptr<BatchDataset> data, int64_t epoch)
      : data_(std::move(data)), epoch_(epoch) {}

  absl::Status start_epoch(int64_t) override { return data_->start_epoch(epoch_); }
  absl::Status seek(absl::Span<const Cursor> cursors) override { return data_->seek(cursors); }
  absl::StatusOr<std::optional<Batch>> next() override { return data_->next(); }
  void cancel() override { data_->cancel(); }

 private:
  const std::unique_ptr<BatchDataset> data_;
  const int64_t epoch_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<WindowedDataset>> WindowedFiles::create(
    WindowedFilesOptions options) {
  if (!options.dataset.data.has_windows()) {
    return absl::InvalidArgumentError("the data has no windows");
  }
  std::unique_ptr<WindowedFiles> windows(new WindowedFiles(std::move(options)));
  ASSIGN_OR_RETURN(windows->source_, windows->make_source());
  return std::unique_ptr<WindowedDataset>(std::move(windows));
}

// A new one knows nothing of where the stream was.
absl::StatusOr<std::unique_ptr<WindowSource>> WindowedFiles::make_source() const {
  const DatasetOptions& dataset = options_.dataset;
  const auto count_rows = [&dataset](const std::string& path) -> absl::StatusOr<int64_t> {
    const auto file = open_file(*dataset.files, path, dataset.data);
    const bool leaves_out = dataset.data.bad_data() == DataConfig::SKIP;
    if (!file.ok() && is_damage(file.status()) && leaves_out) return 0;
    RETURN_IF_ERROR(file.status());
    int64_t rows = 0;
    for (const int64_t count : (*file)->group_rows()) rows += count;
    return rows;
  };
  return create_window_source(*dataset.files, dataset.data, count_rows);
}

WindowedFiles::~WindowedFiles() = default;

absl::Status WindowedFiles::start_epoch(int64_t epoch) {
  Cursor begin;
  begin.epoch = epoch;
  begin.window_finished = true;
  return seek({&begin, 1});
}

absl::Status WindowedFiles::seek(absl::Span<const Cursor> cursors) {
  if (cursors.empty()) return absl::InvalidArgumentError("no cursors to continue from");
  const Cursor& first = cursors.front();
  for (const Cursor& cursor : cursors) {
    if (cursor.epoch != first.epoch || cursor.window != first.window ||
        cursor.window_finished != first.window_finished || cursor.stream != first.stream) {
      return absl::InvalidArgumentError("the cursors are not of one window of one stream");
    }
  }
  WindowPosition position;
  const bool begins = first.stream.empty() && first.window == 0 && first.window_finished;
  if (!begins && (!position.ParseFromString(first.stream) || !position.has_index() ||
                  position.index() != first.window)) {
    return absl::InvalidArgumentError("the cursors are not of a stream of files");
  }
  ASSIGN_OR_RETURN(source_, make_source());
  {
    MutexLock lock(mutex_);
    open_.reset();
  }
  epoch_ = first.epoch;
  position_ = std::move(position);
  position_bytes_ = first.stream;
  sought_.clear();
  if (!first.window_finished) sought_ = {cursors.begin(), cursors.end()};
  waits_since_.reset();
  return absl::OkStatus();
}

absl::StatusOr<std::optional<Batch>> WindowedFiles::next() {
  {
    MutexLock lock(mutex_);
    if (cancelled_) return absl::CancelledError("the dataset was cancelled");
  }
  if (open_ == nullptr) return std::optional<Batch>();
  ASSIGN_OR_RETURN(std::optional<Batch> batch, open_->next(),
                   absl::StrCat("window ", position_.index(), " (", position_.name(), ")"));
  if (batch.has_value()) {
    batch->cursor.epoch = epoch_;
    batch->cursor.window = position_.index();
    batch->cursor.stream = position_bytes_;
  }
  return batch;
}

absl::StatusOr<WindowState> WindowedFiles::next_window() {
  WindowAnnouncement announcement;
  if (options_.dataset.rank == 0) {
    const absl::StatusOr<WindowAnnouncement> found = look();
    if (found.ok()) {
      announcement = *found;
    } else {
      announcement.set_error_code(static_cast<int>(found.status().code()));
      announcement.set_error(std::string(found.status().message()));
    }
    if (options_.broadcast) {
      RETURN_IF_ERROR(options_.broadcast(announcement.SerializeAsString()).status());
    }
    RETURN_IF_ERROR(found.status());
  } else {
    ASSIGN_OR_RETURN(announcement, told_by_rank_0());
  }
  WindowState state;
  state.kind = static_cast<WindowState::Kind>(announcement.kind());
  if (state.kind != WindowState::kReady) return state;
  if (options_.dataset.rank != 0 && announcement.position().damage().empty()) {
    RETURN_IF_ERROR(open(announcement.position()));
  }
  return ready(std::move(*announcement.mutable_position()));
}

absl::StatusOr<WindowAnnouncement> WindowedFiles::told_by_rank_0() {
  if (!options_.broadcast) return absl::FailedPreconditionError("no way to hear rank 0");
  ASSIGN_OR_RETURN(const std::string bytes, options_.broadcast(""));
  WindowAnnouncement announcement;
  if (!announcement.ParseFromString(bytes)) {
    return absl::InternalError("what rank 0 says of windows cannot be read");
  }
  if (announcement.error_code() == 0) return announcement;
  return absl::Status(static_cast<absl::StatusCode>(announcement.error_code()),
                      announcement.error());
}

absl::StatusOr<WindowAnnouncement> WindowedFiles::look() {
  WindowAnnouncement announcement;
  WindowPosition& position = *announcement.mutable_position();
  position = position_;
  Found found = Found::kWindow;
  if (sought_.empty()) {
    ASSIGN_OR_RETURN(found, find_next(position));
  }
  if (found == Found::kWindow) {
    RETURN_IF_ERROR(open_or_leave_out(position),
                    absl::StrCat("window ", position.index(), " (", position.name(), ")"));
    announcement.set_kind(WindowState::kReady);
    waits_since_.reset();
    last_news_ = options_.clock->elapsed();
    return announcement;
  }
  announcement.set_kind(found == Found::kEnded ? WindowState::kEnded : WindowState::kNotYet);
  announcement.clear_position();
  if (found == Found::kNotYet) say_waiting();
  return announcement;
}

// The same window once more, or another.
absl::StatusOr<Found> WindowedFiles::find_next(WindowPosition& position) {
  const bool begins = !position.has_index();
  if (!begins && !position.last_repeat()) {
    position.set_repeat(position.repeat() + 1);
  } else {
    ASSIGN_OR_RETURN(const Found found, source_->find(has_been_idle(), position));
    if (source_->seen() != std::exchange(seen_, source_->seen())) {
      last_news_ = options_.clock->elapsed();
    }
    if (found != Found::kWindow) return found;
    position.clear_repeat();
    position.clear_damage();
    RETURN_IF_ERROR(add_digests(position));
  }
  position.set_index(begins ? 0 : position.index() + 1);
  position.set_last_repeat(position.repeat() + 1 >= options_.dataset.data.windows().repeat());
  return Found::kWindow;
}

bool WindowedFiles::has_been_idle() const {
  const double limit = options_.dataset.data.windows().idle_seconds();
  if (limit <= 0 || !waits_since_.has_value()) return false;
  const absl::Duration idle = options_.clock->elapsed() - last_news_;
  if (idle < absl::Seconds(limit)) return false;
  MILLRACE_LOG(WARNING) << "nothing came for " << absl::FormatDuration(idle)
                        << " (windows.idle_seconds): the stream ends";
  return true;
}

void WindowedFiles::say_waiting() {
  const absl::Duration now = options_.clock->elapsed();
  if (!waits_since_.has_value()) {
    waits_since_ = options_.clock->now();
    last_said_ = now;
    last_news_ = std::max(last_news_, now);
  } else if (now - last_said_ < kSayAgain) {
    return;
  }
  last_said_ = now;
  MILLRACE_LOG(INFO) << "waiting since "
                     << absl::FormatTime("%H:%M:%S", *waits_since_, absl::LocalTimeZone())
                     << " for " << source_->waits_for();
}

// A file that cannot be read gets no digest; opening it says why.
absl::Status WindowedFiles::add_digests(WindowPosition& position) const {
  for (WindowPosition::File& file : *position.mutable_file()) {
    const auto digest = digest_of(*options_.dataset.files, source_->path_of(file.name()));
    if (digest.ok()) file.set_digest(*digest);
  }
  const auto size = static_cast<int64_t>(position.ByteSizeLong());
  if (size <= kMaxPositionBytes) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("window ", position.name(), " has ",
                                                 position.file_size(), " files, whose names take ",
                                                 size, " bytes in every checkpoint; the limit is ",
                                                 kMaxPositionBytes, ": use fewer or larger files"));
}

// That the files of a window that is gone on with are what they were.
absl::Status WindowedFiles::check_digests(const WindowPosition& position) const {
  for (const WindowPosition::File& file : position.file()) {
    const std::string path = source_->path_of(file.name());
    ASSIGN_OR_RETURN(const uint64_t digest, digest_of(*options_.dataset.files, path));
    if (!file.has_digest() || digest == file.digest()) continue;
    return absl::DataLossError(
        absl::StrCat(path,
                     " changed since training stopped within its window; put back what it was, "
                     "or remove the newest checkpoint to go on from the one before"));
  }
  return absl::OkStatus();
}

absl::Status WindowedFiles::open_or_leave_out(WindowPosition& position) {
  if (!position.damage().empty()) return open(position);
  absl::Status status;
  if (!sought_.empty()) status = check_digests(position);
  if (status.ok()) status = open(position);
  if (status.ok() || !is_damage(status)) return status;
  if (options_.dataset.data.bad_data() != DataConfig::SKIP) return status;
  MILLRACE_LOG(WARNING) << "window " << position.index() << " (" << position.name()
                        << ") is left out: " << status.message();
  position.set_damage(std::string(status.message()));
  return open(position);
}

absl::Status WindowedFiles::open(const WindowPosition& position) {
  std::unique_ptr<BatchDataset> old;
  {
    MutexLock lock(mutex_);
    old = std::move(open_);
  }
  old.reset();  // joins its threads before new ones start
  examples_done_ = 0;
  if (!position.damage().empty() || position.file_size() == 0) return absl::OkStatus();
  ASSIGN_OR_RETURN(std::unique_ptr<BatchDataset> dataset, dataset_of(position));
  if (dataset->rows() > 0) RETURN_IF_ERROR(begin(position, *dataset));
  MutexLock lock(mutex_);
  if (cancelled_) return absl::CancelledError("the dataset was cancelled");
  if (dataset->rows() > 0) open_ = std::move(dataset);
  return absl::OkStatus();
}

absl::StatusOr<std::unique_ptr<BatchDataset>> WindowedFiles::dataset_of(
    const WindowPosition& position) const {
  DatasetOptions options = options_.dataset;
  options.data.clear_windows();
  options.data.clear_path();
  for (const std::string& path : paths_of(position)) options.data.add_path(literal(path));
  options.rows = {position.begin_row(), position.end_row()};
  options.may_be_empty = true;
  return open_dataset(options);
}

absl::StatusOr<std::unique_ptr<Dataset>> WindowedFiles::open_window_again() {
  if (open_ == nullptr || !is_new_) return std::unique_ptr<Dataset>();
  ASSIGN_OR_RETURN(std::unique_ptr<BatchDataset> again, dataset_of(position_));
  return std::make_unique<OneEpoch>(std::move(again), position_.index());
}

// At its first batch, or where it is sought.
absl::Status WindowedFiles::begin(const WindowPosition& position, BatchDataset& dataset) {
  if (sought_.empty()) return dataset.start_epoch(position.index());
  std::vector<Cursor> cursors = sought_;
  for (Cursor& cursor : cursors) cursor.epoch = position.index();
  RETURN_IF_ERROR(dataset.seek(cursors));
  const DatasetOptions& own = options_.dataset;
  if (static_cast<int64_t>(cursors.size()) != own.world_size) return absl::OkStatus();
  const RowInterval all{0, dataset.rows()};
  const auto share = deal_rows({&all, 1}, own.rank, own.world_size);
  examples_done_ = count_rows(share) - count_rows(cursors[own.rank].rows_left);
  return absl::OkStatus();
}

WindowState WindowedFiles::ready(WindowPosition position) {
  position_ = std::move(position);
  position_bytes_ = position_.SerializeAsString();
  is_new_ = sought_.empty() && position_.repeat() == 0;
  sought_.clear();
  WindowState state;
  state.kind = WindowState::kReady;
  state.window.index = position_.index();
  state.window.name = position_.name();
  state.window.examples_done = examples_done_;
  state.window.stream = position_bytes_;
  state.window.damage = position_.damage();
  if (position_.last_repeat()) {
    state.window.files = paths_of(position_);
    const size_t rest = static_cast<size_t>(position_.rest_files());
    state.window.files.resize(state.window.files.size() -
                              std::min(rest, state.window.files.size()));
  }
  return state;
}

std::vector<std::string> WindowedFiles::paths_of(const WindowPosition& position) const {
  std::vector<std::string> paths;
  for (const WindowPosition::File& file : position.file()) {
    paths.push_back(source_->path_of(file.name()));
  }
  return paths;
}

std::vector<std::string> WindowedFiles::upcoming_files() {
  if (options_.dataset.rank != 0 || !sought_.empty()) return {};
  if (position_.has_index() && !position_.last_repeat()) return {};
  WindowPosition position = position_;
  const absl::StatusOr<Found> found = source_->find(/*no_more=*/false, position);
  if (!found.ok() || *found != Found::kWindow) return {};
  return paths_of(position);
}

void WindowedFiles::cancel() {
  MutexLock lock(mutex_);
  cancelled_ = true;
  if (open_ != nullptr) open_->cancel();
}

}  // namespace millrace
