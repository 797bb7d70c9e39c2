// The loop of the trainer: epochs and steps.
#include <torch/nn/module.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/hash.h"
#include "base/log.h"
#include "base/status_macros.h"
#include "embedding/embedding_collection.h"
#include "framework/guarded.h"
#include "framework/model.h"
#include "framework/trainer.h"
#include "framework/trainer_internal.h"
#include "io/cursor_state.h"

namespace millrace {

absl::Status Trainer::train_epochs() {
  parts_.model->train();
  RETURN_IF_ERROR(check_parameters());
  RETURN_IF_ERROR(serve_common());
  while (!training_is_over() && !position_.stream_ended) RETURN_IF_ERROR(train_epoch());
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
  RETURN_IF_ERROR(open_epoch(), absl::StrCat("epoch ", position_.progress.epoch));
  at_boundary_ = false;
  RETURN_IF_ERROR(hooks_->before_epoch(*context_));
  at_boundary_ = true;
  position_.open_epoch();
  PassEnd end;
  if (windows_ != nullptr) {
    ASSIGN_OR_RETURN(end, train_windows());
  } else {
    // A resumed epoch counts the steps made before.
    const int64_t cap = options_.max_steps_per_epoch;
    ASSIGN_OR_RETURN(end, train_pass({"epoch", position_.progress.epoch},
                                     cap > 0 ? position_.epoch_first_step + cap : 0,
                                     /*may_be_empty=*/position_.cursor.has_value()));
  }
  if (end == PassEnd::kInterrupted) return absl::OkStatus();
  return complete_epoch(end == PassEnd::kOutOfData);
}

absl::Status Trainer::open_epoch() {
  if (!position_.cursor.has_value())
    return parts_.train_data->start_epoch(position_.progress.epoch);
  if (!position_.former_ranks.empty()) {
    return parts_.train_data->seek(position_.former_ranks);
  }
  // Each rank goes on where it was; a dataset is told of all, as after a resume.
  RETURN_IF_ERROR(agreement_->meet({"open epoch", position_.progress.epoch}));
  ASSIGN_OR_RETURN(const std::vector<std::string> all,
                   parts_.collectives->all_gather(to_state(*position_.cursor).SerializeAsString()));
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
  position_.complete_epoch();
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
  ASSIGN_OR_RETURN(std::unique_ptr<StepData> next, feed_.next_step());
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
    if (limit_reached(options_, position_.progress)) return PassEnd::kInterrupted;
    if (max_steps > 0 && position_.steps_done() >= max_steps) return PassEnd::kCap;
    const std::unique_ptr<StepData> current = next != nullptr ? std::move(next) : feed_.padding();
    const int64_t examples = agreed.examples;
    const bool had_data = current->examples > 0;
    if (had_data) {
      ASSIGN_OR_RETURN(next, feed_.next_step());
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

// What interrupts reading must end the run: the data gives no more batches.
absl::Status Trainer::check_interruption() const {
  if (!feed_.interrupted() || stopped_) return absl::OkStatus();
  return absl::CancelledError("a signal interrupted reading, but no hook asked to stop");
}

// Counts what ranks have left when the first of them has none, over all ranks, until a rank wants
// to stop or time is up. They meet every poll interval, since one may have much to count.
absl::Status Trainer::drop_rest(std::unique_ptr<StepData> next) {
  RankShare share;
  share.has_data = next != nullptr;
  share.examples = next != nullptr ? next->examples : 0;
  ExchangeResult agreed;
  do {
    if (share.has_data) {
      ASSIGN_OR_RETURN(share.has_data, feed_.count_rest(options_.poll_interval, &share.examples));
    }
    share.elapsed = training_.total();
    RETURN_IF_ERROR(agreement_->meet({"dropping", position_.steps_done()}, share));
    agreed = agreement_->result();
    update_elapsed();
    RETURN_IF_ERROR(serve_agreed());
    RETURN_IF_ERROR(check_interruption());
  } while (agreed.ranks_with_data > 0 && !stopped_ && !time_is_up(options_, position_.progress));
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
    RETURN_IF_ERROR(collection->check_step(position_.progress.step + 1));
  }
  agreement_->start({"step", position_.steps_done() + 1}, share(next));
  ++summary_.steps_begun;
  at_boundary_ = false;
  Observer observer(*hooks_, *context_);
  ASSIGN_OR_RETURN(StepResult result, compute_step(data, examples, observer),
                   absl::StrCat("step ", position_.progress.step + 1));
  const ExchangeResult agreed = agreement_->result();
  parts_.collectives->set_phase(RankPhase::kBetweenSteps, position_.steps_done());
  result.timings.data_wait = data.wait;
  advance(result);
  for (const Batch& batch : data.micro_batches) summary_.bad_examples += batch.bad_examples;
  // Before anything is served: a checkpoint holds the position after this step.
  position_.after_step(data.micro_batches.back().cursor, !goes_on(agreed));
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
  commit_->begin_step(position_.steps_done() + 1);
  absl::StatusOr<StepResult> result = absl::InternalError("the step was not run");
  absl::Status status = guarded("the step", [&]() -> absl::Status {
    parts_.model->begin_step(position_.progress, Phase::kTrain);
    RETURN_IF_ERROR(hooks_->before_step(*context_));
    const TrainStepParts parts{*parts_.model, parameters_, parts_.dense_optimizers,
                               parts_.sparse_optimizer.get(), *commit_};
    const StepInput input{data.micro_batches, examples, position_.progress, options_.seed,
                          context_->rank()};
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
    ++position_.progress.step;
    position_.progress.examples += result.examples;
    return;
  }
  ++position_.progress.skipped_steps;
  position_.progress.skipped_examples += result.examples;
  record(LoopEvent::kRefused, "step", result.refused);
}

// The same on all ranks: rank 0's, as of the last exchange. One rank needs nobody to tell it.
void Trainer::update_elapsed() {
  position_.progress.elapsed = context_->world_size() == 1 ? training_.total()
                                                           : std::max(position_.progress.elapsed,
                                                                      agreement_->result().elapsed);
}

RankShare Trainer::share(const StepData* next) const {
  // Whoever was interrupted has more, but does not know it.
  return {next != nullptr || feed_.interrupted(), next != nullptr ? next->examples : 0,
          training_.total(), parts_.saver != nullptr && parts_.saver->ready()};
}

// An epoch or window that a limit left when its data had ended is closed first.
bool Trainer::training_is_over() const {
  return stopped_ || (limit_reached(options_, position_.progress) && !position_.data_ended);
}

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
