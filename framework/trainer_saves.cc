// When a trainer saves, and who hears of it.
#include <torch/nn/module.h>

#include <utility>

#include "absl/strings/str_cat.h"
#include "base/catch_exceptions.h"
#include "base/failure_kind.h"
#include "base/log.h"
#include "base/status_macros.h"
#include "framework/guarded.h"
#include "framework/model.h"
#include "framework/trainer.h"
#include "framework/trainer_internal.h"

namespace millrace {
namespace {

RequestSet without_stops(const RequestSet& requests) {
  RequestSet left;
  for (const Request& request : requests.asked) {
    if (request.kind != Request::kStop) left.add(request);
  }
  return left;
}

}  // namespace

// What evaluations said of the model as it is.
std::map<std::string, double> Trainer::checkpoint_metrics() const {
  std::map<std::string, double> metrics;
  if (restored_metrics_step_ == position_.progress.step) metrics = restored_metrics_;
  for (const auto& [set, values] : summary_.eval) {
    const auto last = last_evaluated_step_.find(set);
    if (last == last_evaluated_step_.end() || last->second != position_.progress.step) continue;
    for (const auto& [name, value] : values) metrics[absl::StrCat(set, "/", name)] = value;
  }
  return metrics;
}

// `asked`: the requests that are being served, of this scope, if it was asked for.
absl::Status Trainer::save(const RequestSet& asked, Scope scope) {
  if (parts_.saver == nullptr) {
    return absl::FailedPreconditionError(
        "a hook asked for a checkpoint, but this trainer has no saver");
  }
  // A stop that was asked for by one rank, a signal say, is not to be asked for again.
  const RequestSet serving = scope == Scope::kCommon ? asked : without_stops(asked);
  serving_ = &serving;
  const Scope outer = std::exchange(serving_scope_, scope);
  absl::StatusOr<TrainState> state = catch_exceptions([this] { return capture(); });
  serving_scope_ = outer;
  serving_ = nullptr;
  RETURN_IF_ERROR(state.status(), "making a checkpoint");
  RETURN_IF_ERROR(agreement_->meet({"checkpoint", position_.steps_done()}));
  parts_.collectives->set_phase(RankPhase::kCheckpoint, position_.steps_done());
  if (parts_.saver->asynchronous()) {
    const absl::Status begun =
        parts_.saver->begin(*state, checkpoint_metrics(), *parts_.collectives);
    parts_.collectives->set_phase(RankPhase::kBetweenSteps, position_.steps_done());
    save_failed_ = !begun.ok();
    if (begun.ok()) saved_step_ = position_.steps_done();
    if (begun.ok()) begun_saves_.push_back({position_.progress.step, asked, scope});
    // Of a failure also others are heard that it waited for.
    return begun.ok() ? begun : tell_of(begun);
  }
  const absl::StatusOr<CheckpointInfo> saved =
      parts_.saver->save(*state, checkpoint_metrics(), *parts_.collectives);
  parts_.collectives->set_phase(RankPhase::kBetweenSteps, position_.steps_done());
  save_failed_ = !saved.ok();
  RETURN_IF_ERROR(saved.status(), "making a checkpoint");
  checkpoint_ = saved->path;
  saved_step_ = durable_step_ = position_.steps_done();
  RETURN_IF_ERROR(hooks_->after_checkpoint(*context_, *saved));
  record_served(Request::kCheckpoint, asked, scope);
  return absl::OkStatus();
}

// Those that became durable before another one failed are told of too. Returns: the failure.
absl::Status Trainer::tell_of(absl::StatusOr<std::vector<CheckpointInfo>> durable) {
  absl::Status outcome = annotate(durable.status(), "making a checkpoint");
  if (!durable.ok()) durable = parts_.saver->poll(/*all_ready=*/false, *parts_.collectives);
  if (!durable.ok()) return outcome;
  for (const CheckpointInfo& info : *durable) {
    checkpoint_ = info.path;
    durable_step_ = info.progress.step + info.progress.skipped_steps;
    outcome.Update(hooks_->after_checkpoint(*context_, info));
    // One before it failed if it is not of this step.
    while (!begun_saves_.empty() && begun_saves_.front().step != info.progress.step) {
      begun_saves_.erase(begun_saves_.begin());
    }
    if (begun_saves_.empty()) continue;
    record_served(Request::kCheckpoint, begun_saves_.front().asked, begun_saves_.front().scope);
    begun_saves_.erase(begun_saves_.begin());
  }
  return outcome;
}

// Goes on with saves that are under way. `agreed`: of the step that was just made; nothing was
// saved since that exchange began.
absl::Status Trainer::poll_saves(const ExchangeResult& agreed) {
  if (parts_.saver == nullptr || !parts_.saver->asynchronous()) return absl::OkStatus();
  const bool all_ready = agreed.durable == context_->world_size();
  // Hooks have run since that exchange.
  if (all_ready)
    RETURN_IF_ERROR(agreement_->meet({"checkpoint under way", position_.steps_done()}));
  const bool boundary = std::exchange(at_boundary_, false);
  RETURN_IF_ERROR(tell_of(parts_.saver->poll(all_ready, *parts_.collectives)));
  at_boundary_ = boundary;
  return absl::OkStatus();
}

absl::Status Trainer::finish_saves() {
  if (parts_.saver == nullptr || !parts_.saver->asynchronous()) return absl::OkStatus();
  RETURN_IF_ERROR(agreement_->meet({"checkpoints under way", position_.steps_done()}));
  parts_.collectives->set_phase(RankPhase::kCheckpoint, position_.steps_done());
  const auto durable = parts_.saver->finish(*parts_.collectives);
  parts_.collectives->set_phase(RankPhase::kBetweenSteps, position_.steps_done());
  return tell_of(durable);
}

// A run that did nothing leaves nothing, unless it ends what another began.
absl::Status Trainer::save_at_end() {
  position_.finished = !summary_.stopped_by_rank;
  position_.stopped_for = stopped_ ? summary_.stop_reason : "";
  const bool saves = options_.save_at_end && (summary_.steps_begun > 0 || !checkpoint_.empty());
  if (parts_.saver == nullptr || !saves) return finish_saves();
  RETURN_IF_ERROR(save(RequestSet(), Scope::kThisRank));
  RETURN_IF_ERROR(finish_saves());
  record(LoopEvent::kServed, "checkpoint", "at the end");
  return absl::OkStatus();
}

// What follows the last step may fail, or end the process: the model is durable before that. The
// checkpoint is not marked as finished, so that a run that goes on from it evaluates.
// `at_end`: hooks ask for the evaluations again when that run starts.
absl::Status Trainer::save_before_evaluation(const RequestSet& requests, Scope scope, bool at_end) {
  const bool last = at_end || training_is_over() || position_.stream_ended || requests.stop;
  if (!last || context_->phase() != Phase::kTrain || parts_.saver == nullptr ||
      !options_.save_at_end || summary_.steps_begun == 0) {
    return absl::OkStatus();
  }
  if (saved_step_ == position_.steps_done()) return finish_saves();  // it may only have begun
  RequestSet asked, evaluations;
  for (const Request& request : requests.asked) {
    if (request.kind == Request::kEvaluate && !at_end) evaluations.add(request);
    if (request.kind == Request::kStop || request.kind == Request::kReload) asked.add(request);
  }
  const RequestSet restored = restored_requests_, due = due_now_;
  keep_unserved(evaluations, scope);
  const absl::Status saved = save(asked, scope);
  restored_requests_ = restored;
  due_now_ = due;
  RETURN_IF_ERROR(saved);
  RETURN_IF_ERROR(finish_saves());
  record(LoopEvent::kServed, "checkpoint", "before the last evaluation");
  return absl::OkStatus();
}

// An evaluation of these requests failed: whoever goes on serves them.
void Trainer::keep_unserved(const RequestSet& requests, Scope scope) {
  if (scope == Scope::kThisRank) {
    put_aside(requests, due_now_);
    return;
  }
  for (const Request& request : requests.asked) {
    if (request.kind != Request::kCheckpoint) restored_requests_.add(request);
  }
}

absl::Status Trainer::explain_failed_evaluation(const absl::Status& outcome) const {
  const bool saved = durable_step_ == position_.steps_done() ||
                     (summary_.steps_begun == 0 && !checkpoint_.empty());
  if (!evaluation_failed_ || !saved) return outcome;
  return with_more(outcome, absl::StrCat("; training is saved up to step ", position_.progress.step,
                                         " in ", checkpoint_,
                                         ": mend what the evaluation lacks and run again, which "
                                         "evaluates first"));
}

// Over several ranks each is sure that the state of all is whole only after a failed evaluation.
// They save together then, and each step of it is agreed on, since it may fail on one of them.
void Trainer::save_after_failure() {
  const bool alone = context_->world_size() == 1;
  const bool together = !alone && agreement_->reopen();
  if (parts_.saver != nullptr && parts_.saver->asynchronous()) {
    // With more ranks what is under way is given up, but what is durable already is told.
    const absl::Status finished = agreement_->settle(
        {"finishing saves after the failure"}, guarded("saving", [&] {
          return alone || together
                     ? finish_saves()
                     : tell_of(parts_.saver->poll(/*all_ready=*/false, *parts_.collectives));
        }));
    if (!finished.ok()) MILLRACE_LOG(ERROR) << finished.message();
    if (!finished.ok() && together) return;
  }
  const bool whole = alone ? (at_boundary_ || evaluation_failed_) && !save_failed_ : together;
  const bool evaluated = together || evaluation_failed_;  // alike on all ranks that save
  if (evaluated && durable_step_ == position_.steps_done()) return;
  if (parts_.saver == nullptr || !options_.save_on_failure || !whole || summary_.steps_begun == 0) {
    return;
  }
  const absl::Status saved =
      agreement_->settle({"saving after the failure"}, guarded("saving", [this]() -> absl::Status {
                           RETURN_IF_ERROR(save(RequestSet(), Scope::kThisRank));
                           return finish_saves();
                         }));
  if (!saved.ok()) {
    MILLRACE_LOG(ERROR) << "the run failed, and so did saving where it stood: " << saved.message();
    return;
  }
  record(LoopEvent::kServed, "checkpoint", "after the failure");
  MILLRACE_LOG(INFO) << "the run failed; where it stood is in " << checkpoint_;
}

}  // namespace millrace
