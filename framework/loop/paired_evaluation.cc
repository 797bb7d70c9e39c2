#include "framework/loop/paired_evaluation.h"

#include <optional>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "io/cursor_state.h"
#include "proto/paired_evaluation_state.pb.h"

namespace millrace {
namespace {

constexpr int32_t kVersion = 1;

}  // namespace

// The open window of the stream, from the stream's position.
class PairedEvaluation::OpenWindow : public Dataset {
 public:
  explicit OpenWindow(WindowedDataset& windows) : windows_(windows) {}
  absl::Status start_epoch(int64_t) override { return absl::OkStatus(); }
  absl::Status seek(absl::Span<const Cursor>) override {
    return absl::UnimplementedError("a window that is evaluated has no positions");
  }
  absl::StatusOr<std::optional<Batch>> next() override { return windows_.next(); }
  void cancel() override { windows_.cancel(); }

 private:
  WindowedDataset& windows_;
};

PairedEvaluation::PairedEvaluation(PairedSet set)
    : name_(std::move(set.name)),
      metrics_(std::move(set.metrics)),
      windows_(std::move(set.windows)),
      open_window_(std::make_unique<OpenWindow>(*windows_)) {
  cursor_.stream.emplace().finished = true;
}

absl::StatusOr<WindowedDataset*> PairedEvaluation::stream() {
  if (!begun_) {
    if (last_paired_ < 0) {
      RETURN_IF_ERROR(windows_->start_epoch(0));
    } else {
      RETURN_IF_ERROR(windows_->seek({&cursor_, 1}));
    }
    begun_ = true;
  }
  return windows_.get();
}

void PairedEvaluation::evaluated(const Window& window, int64_t training_window) {
  cursor_.stream = {.window = window.index, .finished = true, .bytes = window.stream};
  last_paired_ = training_window;
}

absl::Status PairedEvaluation::save_state(ObjectState& state) const {
  if (last_paired_ < 0) return absl::OkStatus();
  PairedEvaluationState paired;
  paired.set_training_window(last_paired_);
  *paired.mutable_cursor() = to_state(cursor_);
  state.version = kVersion;
  state.bytes = paired.SerializeAsString();
  return absl::OkStatus();
}

absl::Status PairedEvaluation::load_state(absl::Span<const ObjectState> per_rank) {
  Cursor cursor;
  cursor.stream.emplace().finished = true;
  int64_t last_paired = -1;
  if (!per_rank.empty() && !per_rank[0].empty()) {
    PairedEvaluationState paired;
    if (per_rank[0].version != kVersion || !paired.ParseFromString(per_rank[0].bytes)) {
      return absl::InvalidArgumentError(
          absl::StrCat("the position of evaluation set ", name_, " is damaged"));
    }
    ASSIGN_OR_RETURN(cursor, from_state(paired.cursor()));
    last_paired = paired.training_window();
  }
  cursor_ = std::move(cursor);
  last_paired_ = last_paired;
  begun_ = false;
  return absl::OkStatus();
}

}  // namespace millrace
