// The loop of the trainer: epochs and steps.
#include <torch/nn/module.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/hash.h"
#include "base/log.h"
#include "base/status_macros.h"
#include "base/stop_signals.h"
#include "embedding/embedding_collection.h"
#include "framework/guarded.h"
#include "framework/model.h"
#include "framework/padding.h"
#include "framework/trainer.h"
#include "framework/trainer_internal.h"
#include "io/cursor_state.h"

namespace millrace {

absl::Status Trainer::train_epochs() {
  parts_.model->train();
  RETURN_IF_ERROR(check_parameters());
  RETURN_IF_ERROR(serve_common());
  while (!training_is_over() && !stream_ended_) RETURN_IF_ERROR(train_epoch());
  return finish();
}

// Ranks that begin with different parameters would go on with different ones: the first exchange
// finds them.
absl::Status Trainer::check_parameters() {
  if (context_->world_size() == 1) return absl::OkStatus();
  uint64_t digest = 0;
  for (const NamedParameter& parameter : parameters_) {
    const at::Tensor value = parameter.value.detach().to(at::kCPU).contiguous();
    digest = xxh3(parameter.name, digest);
    digest = xxh3({static_cast<const char*>(value.const_data_ptr()), value.nbytes()}, digest);
  }
  agreement_->served(absl::StrCat(parameters_.size(), " parameters of digest ",
                                  absl::Hex(digest, absl::kZeroPad16)));
  return absl::OkStatus();
}

absl::Status Trainer::train_epoch() {
  RETURN_IF_ERROR(open_epoch(), absl::StrCat("epoch ", progress_.epoch));
  at_boundary_ = false;
  RETURN_IF_ERROR(hooks_->before_epoch(*context_));
  at_boundary_ = true;
  if (!open_cursor_.has_value()) epoch_first_step_ = steps_done();
  PassEnd end;
  if (windows_ != nullptr) {
    ASSIGN_OR_RETURN(end, train_windows());
  } else {
    // A resumed epoch counts the steps made before.
    const int64_t cap = options_.max_steps_per_epoch;
    ASSIGN_OR_RETURN(end,
                     train_pass({"epoch", progress_.epoch}, cap > 0 ? epoch_first_step_ + cap : 0,
                                /*may_be_empty=*/open_cursor_.has_value()));
  }
  if (end == PassEnd::kInterrupted) return absl::OkStatus();
  return complete_epoch(end == PassEnd::kOutOfData);
}

absl::Status Trainer::open_epoch() {
  if (!open_cursor_.has_value()) return parts_.train_data->start_epoch(progress_.epoch);
  if (!restored_cursors_.empty()) {
    return parts_.train_data->seek(restored_cursors_);
  }
  // Each rank goes on where it was; a dataset is told of all, as after a resume.
  RETURN_IF_ERROR(agreement_->meet({"open epoch", progress_.epoch}));
  ASSIGN_OR_RETURN(const std::vector<std::string> all,
                   parts_.collectives->all_gather(to_state(*open_cursor_).SerializeAsString()));
  std::vector<Cursor> cursors;
  for (const std::string& bytes : all) {
    CursorState state;
    if (!state.ParseFromString(bytes)) return absl::InternalError("a rank's cursor cannot be read");
    ASSIGN_OR_RETURN(cursors.emplace_back(), from_state(state));
  }
  return parts_.train_data->seek(cursors);
}

absl::Status Trainer::complete_epoch(bool out_of_data) {
  if (out_of_data) {
    RETURN_IF_ERROR(
        hooks_->out_of_data(*context_, windows_ != nullptr ? DataEnd::kStream : DataEnd::kEpoch));
  }
  at_boundary_ = false;
  open_cursor_.reset();
  restored_cursors_.clear();
  data_ended_ = false;
  ++progress_.epoch;
  RETURN_IF_ERROR(hooks_->after_epoch(*context_));
  RETURN_IF_ERROR(report_if_due());
  RETURN_IF_ERROR(serve_common());
  at_boundary_ = true;
  return absl::OkStatus();
}

// Trains on what the dataset has open, up to `max_steps` steps since the very first run (0: no such
// limit).
absl::StatusOr<Trainer::PassEnd> Trainer::train_pass(Place place, int64_t max_steps,
                                                     bool may_be_empty) {
  ASSIGN_OR_RETURN(std::unique_ptr<StepData> next, fetch());
  // The first exchange of a pass is synchronous: there is nothing to hide it behind.
  RETURN_IF_ERROR(agreement_->meet(place, share(next.get())));
  ExchangeResult agreed = agreement_->result();
  RETURN_IF_ERROR(serve_agreed());
  ask_for_later();
  if (stopped_) return PassEnd::kInterrupted;
  RETURN_IF_ERROR(check_interruption());
  if (agreed.ranks_with_data == 0 && !may_be_empty) {
    return absl::InvalidArgumentError(
        absl::StrCat(place.what, " ", place.number,
                     ": the training data has no examples; check its paths and split"));
  }
  if (!goes_on(agreed) && agreed.ranks_with_data > 0 && options_.max_epochs == 0 && !may_be_empty) {
    return absl::InvalidArgumentError(
        "a rank has no examples, so with uneven_data: UNTIL_FIRST no epoch has a step; use "
        "fewer ranks, more data or UNTIL_LAST");
  }
  while (goes_on(agreed)) {
    if (limit_reached()) return PassEnd::kInterrupted;
    if (max_steps > 0 && steps_done() >= max_steps) return PassEnd::kCap;
    const std::unique_ptr<StepData> current = next != nullptr ? std::move(next) : padding();
    const int64_t examples = agreed.examples;
    const bool had_data = current->examples > 0;
    if (had_data) {
      ASSIGN_OR_RETURN(next, fetch());
    }
    ASSIGN_OR_RETURN(agreed, run_step(*current, examples, next.get()));
    if (stopped_) return PassEnd::kInterrupted;
    RETURN_IF_ERROR(check_interruption());
  }
  if (agreed.ranks_with_data > 0) RETURN_IF_ERROR(drop_rest(std::move(next)));
  return stopped_ ? PassEnd::kInterrupted : PassEnd::kOutOfData;
}

bool Trainer::goes_on(const ExchangeResult& agreed) const {
  return options_.until_first ? agreed.ranks_with_data == context_->world_size()
                              : agreed.ranks_with_data > 0;
}

absl::StatusOr<std::unique_ptr<Trainer::StepData>> Trainer::fetch() {
  auto data = std::make_unique<StepData>();
  const absl::Duration start = clock_.elapsed();
  for (int64_t i = 0; i < options_.micro_batches; ++i) {
    ASSIGN_OR_RETURN(std::optional<Batch> batch,
                     next_batch(*parts_.train_data, RankPhase::kBetweenSteps),
                     absl::StrCat("reading the data of a step after step ", progress_.step));
    if (interrupted_) return nullptr;
    if (!batch.has_value()) break;
    data->examples += batch->size;
    data->micro_batches.push_back(*std::move(batch));
  }
  data->wait = clock_.elapsed() - start;
  if (data->micro_batches.empty()) return nullptr;
  like_ = data->micro_batches.back();
  // All ranks have as many micro-batches.
  while (context_->world_size() > 1 &&
         static_cast<int64_t>(data->micro_batches.size()) < options_.micro_batches) {
    data->micro_batches.push_back(padding_batch(&*like_, 0, like_->cursor));
  }
  return data;
}

// While a rank waits for data, no time-out of others runs: `then` is its phase afterwards.
absl::StatusOr<std::optional<Batch>> Trainer::next_batch(Dataset& data, RankPhase then) {
  parts_.collectives->set_phase(RankPhase::kData, steps_done());
  absl::StatusOr<std::optional<Batch>> batch = data_watch_.next(data);
  parts_.collectives->set_phase(then, steps_done());
  if (absl::IsCancelled(batch.status()) && noted_stop_signal() != 0) {
    // The exchange that follows carries the stop, so that nobody needs the batch.
    interrupted_ = true;
    return std::optional<Batch>();
  }
  return batch;
}

// What interrupts reading must end the run: the data gives no more batches.
absl::Status Trainer::check_interruption() const {
  if (!interrupted_ || stopped_) return absl::OkStatus();
  return absl::CancelledError("a signal interrupted reading, but no hook asked to stop");
}

// For a rank whose data has ended before that of others.
std::unique_ptr<Trainer::StepData> Trainer::padding() const {
  auto data = std::make_unique<StepData>();
  Cursor nothing_left;
  nothing_left.epoch = progress_.epoch;
  nothing_left.window = window_.index;
  nothing_left.stream = window_.stream;
  // The last batch may be of another window.
  if (like_.has_value() && like_->cursor.window == window_.index) {
    nothing_left.fingerprint = like_->cursor.fingerprint;
  }
  data->micro_batches.assign(
      static_cast<size_t>(options_.micro_batches),
      padding_batch(like_.has_value() ? &*like_ : nullptr,
                    static_cast<int64_t>(options_.tasks.size()), nothing_left));
  return data;
}

// Counts what ranks have left when the first of them has none, over all ranks, until a rank wants
// to stop or time is up. They meet every poll interval, since one may have much to count.
absl::Status Trainer::drop_rest(std::unique_ptr<StepData> next) {
  RankShare share;
  share.has_data = next != nullptr;
  share.examples = next != nullptr ? next->examples : 0;
  ExchangeResult agreed;
  do {
    const absl::Duration start = clock_.elapsed();
    while (share.has_data && clock_.elapsed() - start < options_.poll_interval) {
      ASSIGN_OR_RETURN(const std::optional<Batch> batch,
                       next_batch(*parts_.train_data, RankPhase::kBetweenSteps),
                       "counting examples that are dropped");
      share.has_data = batch.has_value() || interrupted_;
      if (interrupted_) break;
      if (batch.has_value()) share.examples += batch->size;
    }
    share.elapsed = own_elapsed();
    RETURN_IF_ERROR(agreement_->meet({"dropping", steps_done()}, share));
    agreed = agreement_->result();
    update_elapsed();
    RETURN_IF_ERROR(serve_agreed());
    RETURN_IF_ERROR(check_interruption());
  } while (agreed.ranks_with_data > 0 && !stopped_ && !time_is_up());
  const int64_t dropped = agreed.examples;
  summary_.dropped_examples += dropped;
  if (dropped > 0) {
    MILLRACE_LOG(WARNING) << "a rank is out of data: " << dropped
                          << " examples of other ranks are dropped (uneven_data: UNTIL_FIRST)";
  }
  return absl::OkStatus();
}

// Returns: what the ranks said of the next step.
absl::StatusOr<ExchangeResult> Trainer::run_step(const StepData& data, int64_t examples,
                                                 const StepData* next) {
  if (summary_.steps_begun == 0 && parts_.saver != nullptr) {
    RETURN_IF_ERROR(agreement_->meet({"opening the checkpoints"}));
    RETURN_IF_ERROR(parts_.saver->open(*parts_.collectives));
  }
  // All ranks are at this step, and have the same tables.
  for (const EmbeddingCollection* collection : collections_) {
    RETURN_IF_ERROR(collection->check_step(progress_.step + 1));
  }
  agreement_->start({"step", steps_done() + 1}, share(next));
  ++summary_.steps_begun;
  at_boundary_ = false;
  Observer observer(*hooks_, *context_);
  ASSIGN_OR_RETURN(StepResult result, compute_step(data, examples, observer),
                   absl::StrCat("step ", progress_.step + 1));
  const ExchangeResult agreed = agreement_->result();
  parts_.collectives->set_phase(RankPhase::kBetweenSteps, steps_done());
  result.timings.data_wait = data.wait;
  advance(result);
  for (const Batch& batch : data.micro_batches) summary_.bad_examples += batch.bad_examples;
  // Before anything is served: a checkpoint holds the position after this step.
  open_cursor_ = data.micro_batches.back().cursor;
  restored_cursors_.clear();
  data_ended_ = !goes_on(agreed);
  RETURN_IF_ERROR(observer.after_backward_status());
  if (result.applied) RETURN_IF_ERROR(reporter_->add(result));
  RETURN_IF_ERROR(hooks_->after_step(*context_, result));
  RETURN_IF_ERROR(poll_saves(agreed));
  RETURN_IF_ERROR(report_if_due());
  RETURN_IF_ERROR(serve_common());
  RETURN_IF_ERROR(serve_agreed());
  at_boundary_ = true;
  return agreed;
}

// A step that fails before the ranks decided about it takes part in the decision as failed.
absl::StatusOr<StepResult> Trainer::compute_step(const StepData& data, int64_t examples,
                                                 Observer& observer) {
  commit_->begin_step(steps_done() + 1);
  absl::StatusOr<StepResult> result = absl::InternalError("the step was not run");
  absl::Status status = guarded("the step", [&]() -> absl::Status {
    parts_.model->begin_step(progress_, Phase::kTrain);
    RETURN_IF_ERROR(hooks_->before_step(*context_));
    const TrainStepParts parts{*parts_.model, parameters_, parts_.dense_optimizers,
                               parts_.sparse_optimizer.get(), *commit_};
    const StepInput input{data.micro_batches, examples, progress_, options_.seed, context_->rank()};
    result = parts_.train_step->run(parts, input, observer);
    return result.status();
  });
  if (status.ok() && !commit_->decided()) {
    status = absl::InternalError("the train step did not call the commit exchange");
  }
  if (!status.ok()) return commit_->decided() ? status : commit_->fail(status);
  return result;
}

void Trainer::advance(const StepResult& result) {
  update_elapsed();
  if (result.applied) {
    ++progress_.step;
    progress_.examples += result.examples;
    return;
  }
  ++progress_.skipped_steps;
  progress_.skipped_examples += result.examples;
  record(LoopEvent::kRefused, "step", result.refused);
}

absl::Duration Trainer::own_elapsed() const {
  return elapsed_before_ + (clock_.elapsed() - run_started_);
}

// The same on all ranks: rank 0's, as of the last exchange. One rank needs nobody to tell it.
void Trainer::update_elapsed() {
  progress_.elapsed = context_->world_size() == 1
                          ? own_elapsed()
                          : std::max(progress_.elapsed, agreement_->result().elapsed);
}

RankShare Trainer::share(const StepData* next) const {
  // Whoever was interrupted has more, but does not know it.
  return {next != nullptr || interrupted_, next != nullptr ? next->examples : 0, own_elapsed(),
          parts_.saver != nullptr && parts_.saver->ready()};
}

bool Trainer::limit_reached() const {
  return (options_.max_steps > 0 && progress_.step >= options_.max_steps) ||
         (options_.max_epochs > 0 && progress_.epoch >= options_.max_epochs) ||
         (options_.max_windows > 0 && progress_.window >= options_.max_windows) || time_is_up();
}

bool Trainer::time_is_up() const {
  return options_.max_elapsed > absl::ZeroDuration() && progress_.elapsed >= options_.max_elapsed;
}

// An epoch or window that a limit left when its data had ended is closed first.
bool Trainer::training_is_over() const { return stopped_ || (limit_reached() && !data_ended_); }

absl::Status Trainer::finish() {
  ask_for_later();
  RETURN_IF_ERROR(agreement_->meet({"finish"}, share(nullptr)));
  update_elapsed();
  RETURN_IF_ERROR(serve_agreed(/*ending=*/true));
  at_boundary_ = false;
  // A report that training goes on with is whole when it is due.
  const bool goes_on = summary_.stopped_by_rank && parts_.saver != nullptr && options_.save_at_end;
  if (options_.report.at_end && reporter_->steps() > 0 && !goes_on) RETURN_IF_ERROR(report());
  RETURN_IF_ERROR(serve_common());
  const RequestSet at_end = context_->requests().take_at_end();
  if (summary_.stopped_by_rank) return save_at_end();
  agreement_->served(at_end);
  for (const Request& request : at_end.asked) {
    record(LoopEvent::kRequested, request, Scope::kCommon);
  }
  // Of one that a rank's stop ends nothing is left to ask for: who goes on asks for all at the end.
  RETURN_IF_ERROR(evaluate_sets(at_end, Scope::kCommon, /*only_new=*/true).status());
  RETURN_IF_ERROR(serve_common());
  return save_at_end();
}

}  // namespace millrace
