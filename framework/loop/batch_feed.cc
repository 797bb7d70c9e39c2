#include "framework/loop/batch_feed.h"

#include <cstdint>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/catch_exceptions.h"
#include "base/failure_kind.h"
#include "base/status_macros.h"
#include "framework/model/model_output.h"
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
  // Epochs that continue a stream have the number of its first one in their cursors.
  const LoopPosition& position = loop_.position;
  const int64_t epoch =
      position.cursor.has_value() ? position.cursor->epoch : position.progress.epoch;
  const Cursor cursor = nothing_left(epoch, window, same_window ? last_->cursor.fingerprint : 0);
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

absl::StatusOr<std::unique_ptr<StepData>> CountedFeed::next_step() {
  ASSIGN_OR_RETURN(std::unique_ptr<StepData> data, feed_.next_step());
  if (data != nullptr) RETURN_IF_ERROR(prepare(*data));
  return data;
}

absl::StatusOr<std::unique_ptr<StepData>> CountedFeed::padding() {
  std::unique_ptr<StepData> data = feed_.padding();
  RETURN_IF_ERROR(prepare(*data));
  return data;
}

absl::Status CountedFeed::prepare(StepData& data) {
  RETURN_IF_ERROR(count(data));
  const at::Device device = model_.device();
  if (device.is_cpu()) return absl::OkStatus();
  return catch_exceptions("copying batches to the device", [&] {
    if (!copies_.has_value()) copies_ = copy_stream(device);
    data.on_device = BatchUpload(data.micro_batches, *copies_);
    return absl::OkStatus();
  });
}

absl::Status CountedFeed::count(StepData& data) {
  for (const Batch& batch : data.micro_batches) {
    ASSIGN_OR_RETURN(const std::vector<int64_t> targets, count_targets(model_, batch));
    if (&batch == &data.micro_batches.front()) data.targets.resize(targets.size());
    // The first batch determines the number of counts for the whole run, because all ranks must sum
    // equally many numbers.
    if (!counted_tasks_.has_value()) counted_tasks_ = targets.size();
    const bool as_configured = targets.empty() || targets.size() == tasks_;
    if (!as_configured || targets.size() != *counted_tasks_) {
      return wrong_result(absl::StrCat("the model counts targets of ", targets.size(),
                                       " tasks in one batch; must be those of ", tasks_,
                                       " tasks in all batches, or of none in all"));
    }
    for (size_t task = 0; task < targets.size(); ++task) data.targets[task] += targets[task];
  }
  return absl::OkStatus();
}

}  // namespace millrace
