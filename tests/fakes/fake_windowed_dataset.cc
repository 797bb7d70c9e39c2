#include "tests/fakes/fake_windowed_dataset.h"

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"

namespace millrace {

absl::Status FakeWindowedDataset::start_epoch(int64_t) {
  open_.reset();
  seek_cursors_.clear();
  next_ = 0;
  early_ = 0;
  return absl::OkStatus();
}

absl::Status FakeWindowedDataset::seek(absl::Span<const Cursor> cursors) {
  if (static_cast<int64_t>(cursors.size()) != options_.world_size) {
    return absl::InvalidArgumentError("a fake stream cannot be dealt out anew");
  }
  const Cursor& own = cursors[static_cast<size_t>(options_.rank)];
  open_.reset();
  if (!own.stream.has_value()) return absl::InvalidArgumentError("a fake stream has windows");
  next_ = static_cast<size_t>(own.stream->window + (own.stream->finished ? 1 : 0));
  early_ = 0;
  if (!own.stream->finished) seek_cursors_ = {cursors.begin(), cursors.end()};
  return absl::OkStatus();
}

absl::StatusOr<std::optional<Batch>> FakeWindowedDataset::next() {
  if (!open_.has_value()) return std::optional<Batch>();
  ASSIGN_OR_RETURN(std::optional<Batch> batch, open_->next());
  if (batch.has_value()) {
    batch->cursor.epoch = 0;
    batch->cursor.stream = {.window = static_cast<int64_t>(next_) - 1};
  }
  return batch;
}

absl::StatusOr<std::unique_ptr<Dataset>> FakeWindowedDataset::open_window_again(
    absl::Span<const std::string>) {
  std::unique_ptr<Dataset> again;
  FakeDatasetOptions options = options_;
  options.batches = windows_[next_ - 1].batches;
  if (is_new_ && options.batches > 0) again = std::make_unique<FakeDataset>(options);
  return again;
}

std::vector<FakeWindow> FakeWindowedDataset::windows_now() const {
  std::vector<FakeWindow> windows = windows_;
  for (size_t i = 0; i < next_; ++i) windows[i].not_yet = 0;
  if (next_ < windows.size() && windows[next_].not_yet > 0) windows[next_].not_yet -= early_;
  return windows;
}

absl::StatusOr<WindowState> FakeWindowedDataset::next_window() {
  WindowState state;
  if (next_ == windows_.size()) {
    state.kind = WindowState::kEnded;
    return state;
  }
  const FakeWindow& window = windows_[next_];
  if (window.not_yet < 0 || early_++ < window.not_yet) return state;
  early_ = 0;
  FakeDatasetOptions options = options_;
  options.batches = window.batches;
  open_.emplace(options);
  state.kind = WindowState::kReady;
  state.window.index = static_cast<int64_t>(next_);
  is_new_ = seek_cursors_.empty();
  if (seek_cursors_.empty()) {
    RETURN_IF_ERROR(open_->start_epoch(static_cast<int64_t>(next_)));
  } else {
    for (Cursor& cursor : seek_cursors_) cursor.epoch = cursor.stream->window;
    RETURN_IF_ERROR(open_->seek(seek_cursors_));
    const std::vector<RowInterval>& left =
        seek_cursors_[static_cast<size_t>(options_.rank)].rows_left();
    const int64_t batches_left = left.empty() ? 0 : left[0].end - left[0].begin;
    state.window.examples_done = (window.batches - batches_left) * options_.batch_size;
    seek_cursors_.clear();
  }
  state.window.name = absl::StrCat("w", next_++);
  return state;
}

}  // namespace millrace
