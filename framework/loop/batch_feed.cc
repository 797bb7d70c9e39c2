#include "framework/loop/batch_feed.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "framework/ranks/padding.h"
#include "io/window/window_cursor.h"

namespace millrace {

BatchFeed::BatchFeed(BatchFeedOptions options, Dataset* data, const LoopState& loop,
                     Collectives& ranks, Clock& clock)
    : options_(std::move(options)),
      data_(data),
      loop_(loop),
      ranks_(ranks),
      clock_(clock),
      watch_(options_.data_timeout, [this] { return must_stop(); }) {}

// Called on any thread.
bool BatchFeed::must_stop() const {
  return (options_.stop_waiting != nullptr && options_.stop_waiting()) || !ranks_.failure().ok();
}

absl::StatusOr<std::unique_ptr<StepData>> BatchFeed::next_step() {
  auto data = std::make_unique<StepData>();
  const absl::Duration start = clock_.elapsed();
  for (int64_t i = 0; i < options_.micro_batches; ++i) {
    ASSIGN_OR_RETURN(std::optional<Batch> batch, read_for_training(),
                     absl::StrCat("reading data after step ", loop_.position.progress.step));
    if (interrupted_) return nullptr;
    if (!batch.has_value()) break;
    data->examples += batch->size;
    data->micro_batches.push_back(*std::move(batch));
  }
  data->wait = clock_.elapsed() - start;
  if (data->micro_batches.empty()) return nullptr;
  last_ = data->micro_batches.back();
  while (ranks_.world_size() > 1 &&
         static_cast<int64_t>(data->micro_batches.size()) < options_.micro_batches) {
    data->micro_batches.push_back(padding_batch(&*last_, options_.tasks, last_->cursor));
  }
  return data;
}

std::unique_ptr<StepData> BatchFeed::padding() const {
  // The last batch may belong to another window.
  const Window* window = loop_.position.window.has_value() ? &*loop_.position.window : nullptr;
  const bool same_window = last_.has_value() && is_in_window(last_->cursor, window);
  const Cursor cursor = nothing_left(loop_.position.progress.epoch, window,
                                     same_window ? last_->cursor.fingerprint : 0);
  auto data = std::make_unique<StepData>();
  data->micro_batches.assign(
      static_cast<size_t>(options_.micro_batches),
      padding_batch(last_.has_value() ? &*last_ : nullptr, options_.tasks, cursor));
  return data;
}

absl::StatusOr<bool> BatchFeed::count_rest(absl::Duration at_most, int64_t* examples) {
  const absl::Duration start = clock_.elapsed();
  while (clock_.elapsed() - start < at_most) {
    ASSIGN_OR_RETURN(const std::optional<Batch> batch, read_for_training(),
                     "counting examples that are dropped");
    if (interrupted_) return true;
    if (!batch.has_value()) return false;
    *examples += batch->size;
  }
  return true;
}

absl::StatusOr<std::optional<Batch>> BatchFeed::read(Dataset& data, RankPhase then) {
  return read(data, then, absl::InfiniteDuration());
}

absl::StatusOr<std::optional<Batch>> BatchFeed::read_for_training() {
  const absl::Duration left =
      options_.time_left == nullptr ? absl::InfiniteDuration() : options_.time_left();
  return read(*data_, RankPhase::kBetweenSteps, left);
}

absl::StatusOr<std::optional<Batch>> BatchFeed::read(Dataset& data, RankPhase then,
                                                     absl::Duration at_most) {
  ranks_.set_phase(RankPhase::kData, loop_.position.steps_done());
  absl::StatusOr<std::optional<Batch>> batch = watch_.next(data, at_most);
  ranks_.set_phase(then, loop_.position.steps_done());
  if (absl::IsCancelled(batch.status()) && (watch_.exceeded() || must_stop())) {
    // The next exchange carries the stop, the limit or the failure, so no rank needs the batch.
    interrupted_ = true;
    time_is_up_ = watch_.exceeded();
    return std::optional<Batch>();
  }
  return batch;
}

absl::Status BatchFeed::check_interruption() const {
  if (!interrupted_ || time_is_up_ || loop_.stop.stopped) return absl::OkStatus();
  return absl::CancelledError("a signal interrupted reading, but no hook asked to stop");
}

}  // namespace millrace
