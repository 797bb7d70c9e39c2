#include "io/window/windowed_files.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/catch_exceptions.h"
#include "base/failure_kind.h"
#include "base/log.h"
#include "base/status_macros.h"
#include "io/epoch/batch_dataset.h"
#include "io/files/glob.h"
#include "io/mix/mix_check.h"
#include "io/mix/mixed_dataset.h"
#include "io/window/directory_window_source.h"
#include "proto/data_windows.h"

namespace millrace {
namespace {

constexpr absl::Duration kSayAgain = absl::Minutes(5);
constexpr int32_t kMostDamagedInARow = 5;

// Returns true if a part of a window has no rows: it is left out, or its stream has ended.
bool is_missing(const WindowPosition& part) { return part.ended() || !part.damage().empty(); }

// Returns options for the sources of a mix that may be empty (the data in windows) alone, without
// repetition.
DatasetOptions new_data_alone(DatasetOptions options) {
  DatasetOptions alone = options;
  MixConfig& mix = *alone.data.mutable_mix();
  mix.clear_source();
  mix.set_until(MixConfig::ALL_END);
  alone.mix_parts.clear();
  for (int i = 0; i < options.data.mix().source_size(); ++i) {
    if (!options.mix_parts[i].may_be_empty) continue;
    *mix.add_source() = options.data.mix().source(i);
    mix.mutable_source(mix.source_size() - 1)->clear_repeat();
    alone.mix_parts.push_back(options.mix_parts[i]);
  }
  return alone;
}

std::string first_damage(const WindowPosition& position) {
  for (const WindowPosition& part : position.part()) {
    if (!part.damage().empty()) return part.damage();
  }
  return "";
}

int64_t count_files(const WindowPosition& position) {
  int64_t files = position.file_size();
  for (const WindowPosition& part : position.part()) files += part.file_size();
  return files;
}

absl::Status check_size(const WindowPosition& position) {
  const auto size = static_cast<int64_t>(position.ByteSizeLong());
  if (size <= kMaxPositionBytes) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("window ", position.name(), " has ",
                                                 count_files(position), " files, whose names take ",
                                                 size, " bytes in every checkpoint; the limit is ",
                                                 kMaxPositionBytes, ": use fewer or larger files"));
}

// Data of which every epoch is the one that training makes of a window, with its sample.
class OneEpoch : public Dataset {
 public:
  OneEpoch(std::unique_ptr<Dataset> data, int64_t epoch) : data_(std::move(data)), epoch_(epoch) {}

  absl::Status start_epoch(int64_t) override { return data_->start_epoch(epoch_); }
  absl::Status seek(absl::Span<const Cursor> cursors) override { return data_->seek(cursors); }
  absl::StatusOr<std::optional<Batch>> next() override { return data_->next(); }
  void cancel() override { data_->cancel(); }

 private:
  const std::unique_ptr<Dataset> data_;
  const int64_t epoch_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<WindowedDataset>> WindowedFiles::create(
    WindowedFilesOptions options) {
  if (!comes_in_windows(options.dataset.data)) {
    return absl::InvalidArgumentError("the data has no windows");
  }
  std::unique_ptr<WindowedFiles> windows(new WindowedFiles(std::move(options)));
  RETURN_IF_ERROR(windows->make_streams());
  return std::unique_ptr<WindowedDataset>(std::move(windows));
}

// New ones know nothing of where the stream was.
absl::Status WindowedFiles::make_streams() {
  std::vector<Part> parts;
  const DataConfig& data = options_.dataset.data;
  if (!is_mix()) parts.push_back({.options = options_.dataset});
  for (int i = 0; is_mix() && i < data.mix().source_size(); ++i) {
    const DataConfig& own = data.mix().source(i).data();
    if (!own.has_windows()) continue;
    parts.push_back({.source = i, .options = options_.dataset});
    parts.back().options.data = own;
    parts.back().options.data.set_batch_size(data.batch_size());
  }
  // All of them share a position.
  const int64_t names = kTakenNames / std::max<int64_t>(1, static_cast<int64_t>(parts.size()));
  for (Part& part : parts) {
    ASSIGN_OR_RETURN(part.stream, WindowStream::create(part.options, *options_.clock, names));
  }
  parts_ = std::move(parts);
  return absl::OkStatus();
}

WindowedFiles::~WindowedFiles() = default;

bool WindowedFiles::can_restart() const { return is_list_of_windows(options_.dataset.data); }

// Each pass over the list is another order.
int64_t WindowedFiles::epoch_of_window(const WindowPosition& position) const {
  return position.index() + (epoch_ << 32);
}

absl::Status WindowedFiles::start_epoch(int64_t epoch) {
  Cursor begin;
  begin.epoch = epoch;
  begin.stream.emplace().finished = true;
  return seek({&begin, 1});
}

absl::Status WindowedFiles::seek(absl::Span<const Cursor> cursors) {
  if (cursors.empty()) return absl::InvalidArgumentError("no cursors to continue from");
  const int64_t epoch = cursors.front().epoch;
  const std::optional<StreamPosition>& place = cursors.front().stream;
  for (const Cursor& cursor : cursors) {
    if (cursor.epoch != epoch || cursor.stream != place) {
      return absl::InvalidArgumentError("the cursors are not of one window of one stream");
    }
  }
  if (!place.has_value()) {
    return absl::InvalidArgumentError("the cursors are not of a stream of files");
  }
  WindowPosition position;
  // start_epoch() passes this position, which has no parts yet.
  const bool begins = *place == StreamPosition{.finished = true};
  if (!begins && (!position.ParseFromString(place->bytes) || !position.has_index() ||
                  position.index() != place->window)) {
    return absl::InvalidArgumentError("the cursors are not of a stream of files");
  }
  const size_t parts = is_mix() ? parts_.size() : 0;
  if (!begins && position.part_size() != static_cast<int>(parts)) {
    return absl::InvalidArgumentError(absl::StrCat("the cursors are of a stream of ",
                                                   position.part_size(),
                                                   " sources with windows; this one has ", parts));
  }
  while (position.part_size() < static_cast<int>(parts)) position.add_part();
  // The streams must forget the windows that they have taken so far.
  RETURN_IF_ERROR(make_streams());
  {
    MutexLock lock(mutex_);
    open_.reset();
  }
  epoch_ = epoch;
  position_ = std::move(position);
  position_bytes_ = place->bytes;
  seek_cursors_.clear();
  // A finished window has no rows left, so the next window starts at its beginning.
  if (!place->finished) seek_cursors_ = {cursors.begin(), cursors.end()};
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
    batch->cursor.stream = {.window = position_.index(), .bytes = position_bytes_};
  }
  return batch;
}

absl::StatusOr<WindowState> WindowedFiles::next_window() {
  WindowAnnouncement announcement;
  if (options_.dataset.rank == 0) {
    // The other ranks wait for the result, also if a registered source throws.
    const absl::StatusOr<WindowAnnouncement> found =
        catch_part_exceptions("the source of windows", [&] { return look(); });
    if (found.ok()) {
      announcement = *found;
    } else {
      announcement.set_error_code(static_cast<int>(found.status().code()));
      announcement.set_error(std::string(found.status().message()));
      announcement.set_error_kind(static_cast<int>(kind_of(found.status())));
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
  if (options_.dataset.rank != 0) RETURN_IF_ERROR(open(announcement.position()));
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
  return with_kind(
      absl::Status(static_cast<absl::StatusCode>(announcement.error_code()), announcement.error()),
      static_cast<FailureKind>(announcement.error_kind()));
}

absl::StatusOr<WindowAnnouncement> WindowedFiles::look() {
  WindowAnnouncement announcement;
  WindowPosition& position = *announcement.mutable_position();
  position = position_;
  Found found = Found::kWindow;
  if (seek_cursors_.empty()) {
    ASSIGN_OR_RETURN(found, find_next(position));
  }
  if (found == Found::kWindow) {
    if (position.damage() != kSkippedWindow) RETURN_IF_ERROR(check_size(position));
    RETURN_IF_ERROR(open_or_leave_out(position),
                    absl::StrCat("window ", position.index(), " (", position.name(), ")"));
    announcement.set_kind(WindowState::kReady);
    waits_since_.reset();
    return announcement;
  }
  announcement.set_kind(found == Found::kEnded ? WindowState::kEnded : WindowState::kNotYet);
  announcement.clear_position();
  if (found == Found::kNotYet) say_waiting();
  return announcement;
}

absl::StatusOr<Found> WindowedFiles::find_next(WindowPosition& position) {
  if (is_mix()) return find_next_parts(position);
  WindowStream& stream = *parts_.front().stream;
  ASSIGN_OR_RETURN(const Found found, stream.next(position));
  stream.set_waiting(found == Found::kNotYet);
  return found;
}

absl::StatusOr<Found> WindowedFiles::find_part(size_t i, WindowPosition& position) {
  Part& part = parts_[i];
  if (!part.found.has_value()) {
    WindowPosition next = position;
    if (!next.ended()) {
      ASSIGN_OR_RETURN(const Found found, part.stream->next(next));
      if (found == Found::kNotYet) return found;
      if (found == Found::kEnded) {
        next.Clear();
        MILLRACE_LOG(INFO) << mix_source_name(options_.dataset.data.mix(), part.source)
                           << ": the stream has ended";
      }
      next.set_ended(found == Found::kEnded);
    }
    part.found = std::move(next);
  }
  position = *part.found;
  return position.ended() ? Found::kEnded : Found::kWindow;
}

// One window of each stream that continues; a stream with a window keeps the window until all
// streams have one.
absl::StatusOr<Found> WindowedFiles::find_next_parts(WindowPosition& position) {
  const MixConfig& mix = options_.dataset.data.mix();
  size_t ended = 0;
  bool waits = false, any_continues = false;
  std::vector<std::string> names;
  for (size_t i = 0; i < parts_.size(); ++i) {
    ASSIGN_OR_RETURN(const Found found, find_part(i, part_of(position, i)),
                     mix_source_name(options_.dataset.data.mix(), parts_[i].source));
    parts_[i].stream->set_waiting(found == Found::kNotYet);
    waits |= found == Found::kNotYet;
    ended += found == Found::kEnded ? 1 : 0;
    any_continues |= found != Found::kEnded && !mix.source(parts_[i].source).repeat();
    if (found == Found::kWindow) names.push_back(part_of(position, i).name());
  }
  // Sources that repeat make no window by themselves.
  if (!any_continues || (ended > 0 && mix.until() == MixConfig::FIRST_ENDS)) return Found::kEnded;
  if (waits) return Found::kNotYet;
  position.set_index(position.has_index() ? position.index() + 1 : 0);
  position.set_name(absl::StrJoin(names, " + "));
  position.clear_damage();
  return Found::kWindow;
}

void WindowedFiles::say_waiting() {
  const absl::Duration now = options_.clock->elapsed();
  if (!waits_since_.has_value()) {
    waits_since_ = options_.clock->now();
  } else if (now - last_said_ < kSayAgain) {
    return;
  }
  last_said_ = now;
  std::vector<std::string> missing;
  for (const Part& part : parts_) {
    if (part.stream->waiting()) missing.push_back(part.stream->waits_for());
  }
  MILLRACE_LOG(INFO) << "waiting since "
                     << absl::FormatTime("%H:%M:%S", *waits_since_, absl::LocalTimeZone())
                     << " for " << absl::StrJoin(missing, "; ");
}

// Checks that the files of a resumed window are unchanged.
absl::Status WindowedFiles::check_unchanged(const WindowPosition& position) const {
  for (size_t i = 0; i < parts_.size(); ++i) {
    const WindowPosition& part = part_of(position, i);
    if (!is_missing(part)) RETURN_IF_ERROR(parts_[i].stream->check_unchanged(part));
  }
  return absl::OkStatus();
}

absl::Status WindowedFiles::open_or_leave_out(WindowPosition& position) {
  absl::Status status;
  const bool is_counted = !position.damage().empty();  // before a resume
  if (!seek_cursors_.empty() && !is_counted) status = check_unchanged(position);
  if (status.ok()) status = open(position);
  if (!status.ok() && is_window_damage(status) && leave_out_parts(status, position)) {
    status = open(position);
  }
  RETURN_IF_ERROR(status);
  if (has_data(position)) position.clear_damaged_in_a_row();
  // Nothing is left of a mix, and damage is why.
  const std::string damage = has_data(position) ? "" : first_damage(position);
  if (!damage.empty()) position.set_damage(damage);
  const bool is_skipped = position.damage() == kSkippedWindow;
  return is_counted || is_skipped || position.damage().empty() ? absl::OkStatus()
                                                               : count_damaged(position);
}

// Ends a run of which every window is left out: a column that a producer renamed, or a mistake in
// the configuration, would empty the stream otherwise.
absl::Status WindowedFiles::count_damaged(WindowPosition& position) const {
  position.set_damaged_in_a_row(position.damaged_in_a_row() + 1);
  const bool unlimited = std::all_of(parts_.begin(), parts_.end(), [](const Part& part) {
    return part.options.data.max_bad_fraction() == 1;
  });
  if (unlimited || position.damaged_in_a_row() < kMostDamagedInARow) return absl::OkStatus();
  return absl::DataLossError(
      absl::StrCat(position.damaged_in_a_row(),
                   " windows in a row are damaged, the last one by: ", position.damage(),
                   "; correct the data or the configuration, or set max_bad_fraction: 1 to leave "
                   "out any number"));
}

// Omits the damaged parts of which the configuration skips bad data. Returns true if any is
// omitted.
bool WindowedFiles::leave_out_parts(const absl::Status& why, WindowPosition& position) const {
  bool any = false;
  for (size_t i = 0; i < parts_.size(); ++i) {
    WindowPosition& part = part_of(position, i);
    if (is_missing(part) || part.file_size() == 0) continue;
    if (parts_[i].options.data.bad_data() != DataConfig::SKIP) continue;
    const absl::Status status = is_mix() ? check_part(i, part) : why;
    if (status.ok() || !is_window_damage(status)) continue;
    any = true;
    part.set_damage(std::string(status.message()));
    MILLRACE_LOG(WARNING) << "window " << position.index() << " (" << part.name()
                          << ") is left out: " << status.message();
  }
  // After training on part of a window, the rest of the window cannot be mixed differently.
  if (any && is_mix() && !seek_cursors_.empty()) position.set_damage(first_damage(position));
  return any;
}

// Checks a part alone.
absl::Status WindowedFiles::check_part(size_t part, const WindowPosition& position) const {
  if (!seek_cursors_.empty()) RETURN_IF_ERROR(parts_[part].stream->check_unchanged(position));
  return open_dataset(plain_options(part, position)).status();
}

absl::Status WindowedFiles::open(const WindowPosition& position) {
  std::unique_ptr<Dataset> old;
  {
    MutexLock lock(mutex_);
    old = std::move(open_);
  }
  old.reset();  // joins its threads before new ones start
  examples_done_ = 0;
  if (!has_data(position)) return absl::OkStatus();
  if (is_mix()) {
    ASSIGN_OR_RETURN(auto mixed, open_mixed_dataset(mix_options(position)));
    return begin(position, std::move(mixed));
  }
  ASSIGN_OR_RETURN(auto plain, open_dataset(plain_options(0, position)));
  return begin(position, std::move(plain));
}

// Returns true if there are files to read. Sources that repeat make no window by themselves.
bool WindowedFiles::has_data(const WindowPosition& position) const {
  if (!position.damage().empty()) return false;
  for (size_t i = 0; i < parts_.size(); ++i) {
    const WindowPosition& part = part_of(position, i);
    const bool repeats = is_mix() && options_.dataset.data.mix().source(parts_[i].source).repeat();
    if (!is_missing(part) && part.file_size() > 0 && !repeats) return true;
  }
  return false;
}

// The options for reading one part alone.
DatasetOptions WindowedFiles::plain_options(size_t part, const WindowPosition& position) const {
  DatasetOptions options = parts_[part].options;
  options.data.clear_windows();
  options.data.clear_path();
  for (const std::string& path : parts_[part].stream->paths_of(position)) {
    options.data.add_path(is_glob_pattern(path) ? literal_pattern(path) : path);
  }
  parts_[part].stream->set_format(position, options.data);
  options.rows = {position.begin_row(), position.end_row()};
  options.may_be_empty = true;
  options.first_file = position.files_before();
  options.time_types.merge(time_types_of(hashed_columns_));
  return options;
}

DatasetOptions WindowedFiles::mix_options(const WindowPosition& position) const {
  DatasetOptions options = options_.dataset;
  options.time_types.merge(time_types_of(hashed_columns_));
  MixConfig& mix = *options.data.mutable_mix();
  mix.clear_source();
  size_t next = 0;  // of parts_
  for (int i = 0; i < options_.dataset.data.mix().source_size(); ++i) {
    MixSourceConfig source = options_.dataset.data.mix().source(i);
    MixPartOptions own;
    own.source = i;
    own.files_before = 0;
    own.sources = options_.dataset.data.mix().source_size();
    if (next < parts_.size() && parts_[next].source == i) {
      const WindowPosition& part = part_of(position, next);
      const DatasetOptions plain = plain_options(next++, part);
      if (is_missing(part) || part.file_size() == 0) continue;
      *source.mutable_data() = plain.data;
      source.mutable_data()->clear_batch_size();
      own.rows = plain.rows;
      own.may_be_empty = plain.may_be_empty;
      own.files_before = part.files_before();
    }
    *mix.add_source() = std::move(source);
    options.mix_parts.push_back(own);
  }
  return options;
}

absl::StatusOr<std::unique_ptr<Dataset>> WindowedFiles::open_window_again(
    absl::Span<const std::string> missing_of) {
  std::unique_ptr<Dataset> again;
  if (open_ == nullptr || !is_new_) return again;
  DatasetOptions options =
      is_mix() ? new_data_alone(mix_options(position_)) : plain_options(0, position_);
  options.missing_of.assign(missing_of.begin(), missing_of.end());
  if (is_mix()) {
    ASSIGN_OR_RETURN(again, open_mixed_dataset(options));
  } else {
    ASSIGN_OR_RETURN(again, open_dataset(options));
  }
  return std::make_unique<OneEpoch>(std::move(again), epoch_of_window(position_));
}

// Starts reading at the first batch, or at the position that seek() was given.
template <typename Data>
absl::Status WindowedFiles::begin(const WindowPosition& position, std::unique_ptr<Data> data) {
  if (data->rows() == 0) return absl::OkStatus();
  update_hashed_columns(data->hashed_columns(), &hashed_columns_);
  if (seek_cursors_.empty()) {
    RETURN_IF_ERROR(data->start_epoch(epoch_of_window(position)));
  } else {
    std::vector<Cursor> cursors = seek_cursors_;
    for (Cursor& cursor : cursors) cursor.epoch = epoch_of_window(position);
    RETURN_IF_ERROR(data->seek(cursors));
    const DatasetOptions& own = options_.dataset;
    const bool same_world = static_cast<int64_t>(cursors.size()) == own.world_size;
    if (same_world) examples_done_ = data->rows_done(cursors[own.rank]);
  }
  MutexLock lock(mutex_);
  if (cancelled_) return absl::CancelledError("the dataset was cancelled");
  open_ = std::move(data);
  return absl::OkStatus();
}

WindowState WindowedFiles::ready(WindowPosition position) {
  position_ = std::move(position);
  position_bytes_ = position_.SerializeAsString();
  is_new_ = seek_cursors_.empty() && epoch_ == 0;  // later epochs read a list again
  for (size_t i = 0; i < parts_.size(); ++i) is_new_ &= part_of(position_, i).repeat() == 0;
  seek_cursors_.clear();
  for (Part& part : parts_) part.found.reset();
  WindowState state;
  state.kind = WindowState::kReady;
  state.window.index = position_.index();
  state.window.name = position_.name();
  state.window.examples_done = examples_done_;
  state.window.stream = position_bytes_;
  state.window.damage = position_.damage();
  state.window.is_new = is_new_;
  for (size_t i = 0; i < parts_.size(); ++i) {
    const WindowPosition& part = part_of(position_, i);
    if (!part.last_repeat()) continue;
    // A damaged part of a window that has others is not done with, nor is the reverse.
    if (is_mix() && part.damage().empty() != position_.damage().empty()) continue;
    std::vector<std::string> paths = parts_[i].stream->paths_of(part);
    paths.resize(paths.size() - std::min(static_cast<size_t>(part.rest_files()), paths.size()));
    state.window.files.insert(state.window.files.end(), paths.begin(), paths.end());
  }
  return state;
}

std::vector<std::string> WindowedFiles::upcoming_files() {
  if (options_.dataset.rank != 0 || !seek_cursors_.empty()) return {};
  std::vector<std::string> files;
  for (size_t i = 0; i < parts_.size(); ++i) {
    if (is_mix() && part_of(position_, i).ended()) continue;
    const std::vector<std::string> own = parts_[i].stream->upcoming(part_of(position_, i));
    files.insert(files.end(), own.begin(), own.end());
  }
  return files;
}

absl::StatusOr<DataIdentity> WindowedFiles::identity() const {
  DataIdentity identity;
  *identity.mutable_column() = hashed_columns_;
  return identity;
}

void WindowedFiles::saved(absl::string_view stream) {
  WindowPosition position;
  if (!position.ParseFromString(std::string(stream))) return;
  for (size_t i = 0; i < parts_.size(); ++i) {
    if (!is_mix() || static_cast<int>(i) < position.part_size()) {
      parts_[i].stream->saved(part_of(position, i));
    }
  }
}

std::vector<StreamFigure> WindowedFiles::figures() {
  std::vector<StreamFigure> figures;
  for (const Part& part : parts_) {
    for (StreamFigure& figure : part.stream->figures()) figures.push_back(std::move(figure));
  }
  return figures;
}

void WindowedFiles::cancel() {
  MutexLock lock(mutex_);
  cancelled_ = true;
  if (open_ != nullptr) open_->cancel();
}

std::string WindowedFiles::files_being_read() const {
  MutexLock lock(mutex_);
  const auto* files = dynamic_cast<const NamesFiles*>(open_.get());
  return files == nullptr ? "" : files->files_being_read();
}

}  // namespace millrace
