#include "tests/fakes/fake_windowed_dataset.h"

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"

namespace millrace {

absl::Status FakeWindowedDataset::start_epoch(int64_t) {
  open_.reset();
  next_ = 0;
  early_ = 0;
  return absl::OkStatus();
}

absl::Status FakeWindowedDataset::seek(absl::Span<const Cursor>) {
  return absl::UnimplementedError("the fake stream has no positions");
}

absl::StatusOr<std::optional<Batch>> FakeWindowedDataset::next() {
  if (!open_.has_value()) return std::optional<Batch>();
  return open_->next();
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
  RETURN_IF_ERROR(open_->start_epoch(static_cast<int64_t>(next_)));
  state.kind = WindowState::kReady;
  state.window.index = static_cast<int64_t>(next_);
  state.window.name = absl::StrCat("w", next_++);
  return state;
}

}  // namespace millrace
