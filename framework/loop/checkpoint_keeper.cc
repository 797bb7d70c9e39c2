#include "framework/loop/checkpoint_keeper.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/catch_exceptions.h"
#include "base/failure_kind.h"
#include "base/log.h"
#include "base/status_macros.h"
#include "framework/loop/loop_state.h"

namespace millrace {

namespace {

// Attempts of a save that must become durable; each may be dropped (StateSaver::finish).
constexpr int kSaveAttempts = 2;

}  // namespace

CheckpointKeeper::CheckpointKeeper(const Parts& parts, std::unique_ptr<StateSaver> saver,
                                   std::unique_ptr<StateLoader> model_bank,
                                   CheckpointKeeperOptions options)
    : parts_(parts),
      saver_(std::move(saver)),
      model_bank_(std::move(model_bank)),
      options_(options) {}

absl::Status CheckpointKeeper::prepare(const TrainState& state, UndoWaits waits) {
  if (has_saver()) {
    RETURN_IF_ERROR(saver_->check(state));
    saver_->observe_waits(std::move(waits));
  }
  if (model_bank_ == nullptr || !model_bank_->dynamic()) return absl::OkStatus();
  return parts_.state.add_object(kModelBank, *model_bank_, StatePlacement::kOnce);
}

void CheckpointKeeper::begin_run() {
  steps_begun_ = 0;
  save_failed_ = false;
  begun_step_ = durable_step_ = -1;
}

absl::Status CheckpointKeeper::open() {
  if (steps_begun_ > 0 || saver_ == nullptr) return absl::OkStatus();
  RETURN_IF_ERROR(parts_.agreement.meet({"opening the checkpoints"}));
  return saver_->open(ranks());
}

absl::Status CheckpointKeeper::save(const RequestSet& served, Scope scope,
                                    const RequestSet& evaluations, absl::string_view detail) {
  if (saver_ == nullptr) {
    return absl::FailedPreconditionError(
        "a hook asked for a checkpoint, but this trainer has no saver");
  }
  SavePoint point{served, evaluations, scope, parts_.agreement.carried(), std::nullopt};
  if (parts_.loop.stop.stopped && !parts_.loop.stop.by_rank && !position().finished) {
    point.stop_reason = parts_.loop.stop.reason;
  }
  const absl::StatusOr<TrainState> state =
      catch_exceptions([&] { return parts_.state.capture(&point); });
  RETURN_IF_ERROR(state.status(), "making a checkpoint");
  RETURN_IF_ERROR(parts_.agreement.meet({"checkpoint", progress().steps_done()}));
  return begin_and_finish(*state, {served, scope, std::string(detail)});
}

absl::Status CheckpointKeeper::begin_and_finish(const TrainState& state, Asked asked) {
  absl::StatusOr<std::vector<CheckpointInfo>> durable;
  {
    const PhaseScope phase(ranks(), progress(), RankPhase::kCheckpoint);
    const absl::Status begun = saver_->begin(state, parts_.evaluations.current_metrics(), ranks());
    save_failed_ = !begun.ok();
    if (begun.ok()) {
      begun_step_ = progress().steps_done();
      begun_is_durable_ = false;
      asked_.insert({progress().step, std::move(asked)});
      if (saver_->asynchronous()) return begun;
      durable = saver_->finish(ranks());
    } else {
      durable = begun;
    }
  }
  return report_durable(std::move(durable));
}

// Records checkpoints as durable and reports them to hooks. If `durable` is an error, a save
// failed; checkpoints that became durable before the failure are reported too. Returns the failure.
absl::Status CheckpointKeeper::report_durable(absl::StatusOr<std::vector<CheckpointInfo>> durable) {
  absl::Status outcome = annotate(durable.status(), "making a checkpoint");
  if (!durable.ok()) durable = saver_->poll(/*all_ready=*/false, ranks());
  if (!durable.ok()) return outcome;
  for (const CheckpointInfo& info : *durable) {
    newest_ = info.path;
    durable_step_ = info.progress.steps_done();
    if (durable_step_ == begun_step_) begun_is_durable_ = true;
    outcome.Update(parts_.hooks.after_checkpoint(parts_.context, info));
    const auto asked = asked_.lower_bound(info.progress.step);
    if (asked == asked_.end() || asked->first != info.progress.step) continue;
    parts_.recorder.served(Request::kCheckpoint, asked->second.requests, asked->second.scope);
    if (!asked->second.detail.empty()) parts_.recorder.served("checkpoint", asked->second.detail);
    // Saves become durable in the order of their steps, so earlier saves without a checkpoint
    // failed.
    asked_.erase(asked_.begin(), std::next(asked));
  }
  return outcome;
}

absl::Status CheckpointKeeper::poll(const ExchangeResult& agreed) {
  if (saver_ == nullptr || !saver_->asynchronous()) return absl::OkStatus();
  const bool all_ready = agreed.durable == parts_.context.world_size();
  if (!all_ready) {
    return parts_.loop.consistency.suspend(
        [&] { return report_durable(saver_->poll(/*all_ready=*/false, ranks())); });
  }
  // Hooks have run since that exchange, and may have failed on one rank.
  RETURN_IF_ERROR(parts_.agreement.meet({"checkpoint under way", progress().steps_done()}));
  return parts_.loop.consistency.suspend([&] {
    absl::StatusOr<std::vector<CheckpointInfo>> durable;
    {
      const PhaseScope phase(ranks(), progress(), RankPhase::kCheckpoint);
      durable = saver_->poll(/*all_ready=*/true, ranks());
    }
    return report_durable(std::move(durable));
  });
}

absl::Status CheckpointKeeper::finish() {
  if (saver_ == nullptr || !saver_->asynchronous()) return absl::OkStatus();
  RETURN_IF_ERROR(parts_.agreement.meet({"checkpoints under way", progress().steps_done()}));
  absl::StatusOr<std::vector<CheckpointInfo>> durable;
  {
    const PhaseScope phase(ranks(), progress(), RankPhase::kCheckpoint);
    durable = saver_->finish(ranks());
  }
  return report_durable(std::move(durable));
}

// Saves and waits for the checkpoint. Saves a second time if the saver dropped the save.
absl::Status CheckpointKeeper::save_durably(const RequestSet& served, Scope scope,
                                            const RequestSet& evaluations) {
  for (int attempt = 0; attempt < kSaveAttempts; ++attempt) {
    RETURN_IF_ERROR(save(served, scope, evaluations));
    RETURN_IF_ERROR(finish());
    if (newest_save_kept()) return absl::OkStatus();
  }
  return dropped_error();
}

absl::Status CheckpointKeeper::dropped_error() const {
  return absl::PermissionDeniedError(
      absl::StrCat("making a checkpoint: cannot save step ", progress().step,
                   ": the directory of checkpoints was removed during both attempts"));
}

absl::Status CheckpointKeeper::save_at_end() {
  // The limit of one run leaves training unfinished.
  const bool of_job = parts_.loop.stop.stopped || position().stream_ended ||
                      limit_reached(options_.limits, progress());
  position().finished = of_job && !parts_.loop.stop.by_rank;
  position().stopped_for = parts_.loop.stop.reason;
  const bool saves = options_.at_end && (steps_begun_ > 0 || !newest_.empty());
  if (saver_ == nullptr || !saves) return finish();
  RETURN_IF_ERROR(save_durably(RequestSet(), Scope::kThisRank));
  parts_.recorder.served("checkpoint", "at the end");
  return absl::OkStatus();
}

absl::Status CheckpointKeeper::save_before_evaluation(const RequestSet& requests, Scope scope,
                                                      bool at_end) {
  // The save of this step may only have begun.
  if (begun_step_ == progress().steps_done()) {
    RETURN_IF_ERROR(finish());
    if (newest_save_kept()) return absl::OkStatus();
  }
  const RequestSet served = requests.of_kinds({Request::kReload, Request::kStop});
  const RequestSet evaluations = at_end ? RequestSet() : requests.of_kinds({Request::kEvaluate});
  RETURN_IF_ERROR(save_durably(served, scope, evaluations));
  parts_.recorder.served("checkpoint", "before the last evaluation");
  return absl::OkStatus();
}

absl::Status CheckpointKeeper::explain(const absl::Status& outcome) const {
  const bool saved =
      durable_step_ == progress().steps_done() || (steps_begun_ == 0 && !newest_.empty());
  if (!parts_.evaluations.failed() || !saved) return outcome;
  return with_more(
      outcome,
      absl::StrCat("; training is saved up to step ", progress().step, " in ", newest_,
                   ": mend what the evaluation lacks and run again, which evaluates first"));
}

// Several ranks act together only if all of them know the state of all ranks to be whole, or all of
// them to be at the same boundary: they exchange this with their failures. They also agree on each
// step of the save, since each may fail on one rank.
void CheckpointKeeper::save_after_failure() {
  const bool alone = parts_.context.world_size() == 1;
  const bool together = !alone && parts_.agreement.reopen();
  const absl::Status finished = finish_after_failure(alone || together);
  if (!finished.ok()) MILLRACE_LOG(ERROR) << finished.message();
  if (!finished.ok() && together) return;
  const bool whole =
      alone ? (parts_.loop.consistency.holds() || parts_.evaluations.failed()) && !save_failed_
            : together;
  // Equal on all ranks that save.
  const bool evaluated = together || parts_.evaluations.failed();
  if (evaluated && durable_step_ == progress().steps_done()) return;
  if (saver_ == nullptr || !options_.on_failure || !whole || steps_begun_ == 0) return;
  const absl::Status saved = parts_.agreement.settle(
      {"saving after the failure"}, catch_exceptions("saving", [this]() -> absl::Status {
        return save_durably(RequestSet(), Scope::kThisRank);
      }));
  if (!saved.ok()) {
    MILLRACE_LOG(ERROR) << "the run failed, and so did saving where it stood: " << saved.message();
    return;
  }
  parts_.recorder.served("checkpoint", "after the failure");
  MILLRACE_LOG(INFO) << "the run failed; where it stood is in " << newest_;
}

// Completes saves under way. `able`: true if the ranks can act together. If false, saves under way
// are abandoned, but checkpoints that are already durable are reported.
absl::Status CheckpointKeeper::finish_after_failure(bool able) {
  if (saver_ == nullptr || !saver_->asynchronous()) return absl::OkStatus();
  if (!able) saver_->abandon();
  return parts_.agreement.settle(
      {"finishing saves after the failure"}, catch_exceptions("saving", [&] {
        return able ? finish() : report_durable(saver_->poll(/*all_ready=*/false, ranks()));
      }));
}

absl::Status CheckpointKeeper::reload() {
  if (model_bank_ == nullptr || !model_bank_->dynamic()) {
    return absl::FailedPreconditionError(
        "a hook asked for a reload, but this trainer has no model bank with a dynamic source");
  }
  RETURN_IF_ERROR(finish());  // saves under way read the current tables
  const TrainState target = parts_.state.for_model_bank();
  RETURN_IF_ERROR(parts_.agreement.meet({"reload", progress().steps_done()}));
  const PhaseScope phase(ranks(), progress(), RankPhase::kCheckpoint);
  ASSIGN_OR_RETURN(const bool changed, model_bank_->reload(target, ranks()), "reloading");
  if (changed) parts_.evaluations.forget();
  return absl::OkStatus();
}

absl::StatusOr<CheckpointInfo> CheckpointKeeper::save_between_runs() {
  if (saver_ == nullptr) return absl::FailedPreconditionError("there is no saver");
  if (!parts_.loop.consistency.holds() && !parts_.evaluations.failed()) {
    return absl::FailedPreconditionError(
        "the last run failed amid a step, whose state is not saved; resume from a checkpoint "
        "first");
  }
  const absl::StatusOr<TrainState> state =
      catch_exceptions([&] { return parts_.state.capture(nullptr); });
  if (!state.ok()) {
    ranks().fail(state.status());
    return annotate(state.status(), "making a checkpoint");
  }
  const PhaseScope phase(ranks(), progress(), RankPhase::kCheckpoint, RankPhase::kStart);
  RETURN_IF_ERROR(saver_->open(ranks()));
  for (int attempt = 0; attempt < kSaveAttempts; ++attempt) {
    RETURN_IF_ERROR(saver_->begin(*state, parts_.evaluations.current_metrics(), ranks()),
                    "making a checkpoint");
    ASSIGN_OR_RETURN(const std::vector<CheckpointInfo> saved, saver_->finish(ranks()),
                     "making a checkpoint");
    if (saved.empty()) continue;  // dropped, see save_durably()
    newest_ = saved.back().path;
    return saved.back();
  }
  return dropped_error();
}

// Restores a checkpoint that the saver found.
absl::Status CheckpointKeeper::apply(FoundCheckpoint found, std::vector<std::string>* notes) {
  notes->insert(notes->end(), found.notes.begin(), found.notes.end());
  const std::vector<std::string> left_out = found.state.left_out;
  const absl::Status status = parts_.state.restore(std::move(found.state), notes);
  if (!status.ok()) {
    // Other ranks may have restored their state, so the job cannot continue.
    ranks().fail(status);
    return annotate(status, found.info.path);
  }
  if (!finished().has_value()) {
    for (const std::string& change : found.changes) {
      notes->push_back(absl::StrCat("resumed with a change of ", change));
    }
    changes_ = std::move(found.changes);
    ASSIGN_OR_RETURN(const std::vector<std::string> fresh,
                     load_left_out(left_out, parts_.state.began_with()),
                     absl::StrCat("the model bank, for what ", found.info.path, " lacks"));
    if (!fresh.empty()) {
      notes->push_back(absl::StrCat(found.info.path, " was saved without ",
                                    absl::StrJoin(fresh, ", "), ", which begin anew"));
    }
  }
  saver_->restored(found.info);
  parts_.loop.consistency.begin_run();
  asked_.clear();
  newest_ = found.info.path;
  parts_.evaluations.restore_metrics(std::move(found.metrics));
  return absl::OkStatus();
}

void CheckpointKeeper::record_changes() {
  for (const std::string& change : std::exchange(changes_, {})) {
    parts_.recorder.served("change", change);
  }
}

std::optional<std::string> CheckpointKeeper::finished() const {
  const LoopPosition& position = parts_.loop.position;
  if (!position.finished) return std::nullopt;
  if (!position.stopped_for.empty()) return absl::StrCat("stopped: ", position.stopped_for);
  // The limits may differ from the limits of the saved run.
  const bool at_limit = limit_reached(options_.limits, position.progress) && !position.data_ended;
  if (position.stream_ended || at_limit) return "completed";
  return std::nullopt;
}

absl::StatusOr<std::optional<CheckpointInfo>> CheckpointKeeper::resume(
    std::vector<std::string>* notes) {
  if (saver_ == nullptr) return absl::FailedPreconditionError("there is no saver");
  ASSIGN_OR_RETURN(const TrainState target, parts_.state.capture(nullptr));
  std::optional<FoundCheckpoint> found;
  {
    const PhaseScope phase(ranks(), progress(), RankPhase::kCheckpoint, RankPhase::kStart);
    ASSIGN_OR_RETURN(found, saver_->restore(target, ranks()));
  }
  if (!found.has_value()) return std::optional<CheckpointInfo>();
  const CheckpointInfo info = found->info;
  RETURN_IF_ERROR(apply(*std::move(found), notes));
  return std::optional<CheckpointInfo>(info);
}

absl::StatusOr<CheckpointInfo> CheckpointKeeper::resume_from(const std::string& path,
                                                             std::vector<std::string>* notes) {
  if (saver_ == nullptr) return absl::FailedPreconditionError("there is no saver");
  ASSIGN_OR_RETURN(const TrainState target, parts_.state.capture(nullptr));
  std::optional<FoundCheckpoint> found;
  {
    const PhaseScope phase(ranks(), progress(), RankPhase::kCheckpoint, RankPhase::kStart);
    ASSIGN_OR_RETURN(found, saver_->restore_from(path, target, ranks()));
  }
  const CheckpointInfo info = found->info;
  RETURN_IF_ERROR(apply(*std::move(found), notes));
  return info;
}

absl::Status CheckpointKeeper::load_model_bank(std::vector<std::string>* notes) {
  if (model_bank_ == nullptr) return absl::OkStatus();
  ASSIGN_OR_RETURN(const TrainState target, parts_.state.capture(nullptr));
  absl::StatusOr<LoadedState> loaded;
  {
    const PhaseScope phase(ranks(), progress(), RankPhase::kCheckpoint, RankPhase::kStart);
    loaded = model_bank_->load(target, ranks());
  }
  RETURN_IF_ERROR(loaded.status());
  const absl::Status status = parts_.state.restore(*std::move(loaded), notes);
  if (!status.ok()) ranks().fail(status);
  return status;
}

absl::StatusOr<std::vector<std::string>> CheckpointKeeper::load_left_out(
    const std::vector<std::string>& names, const TrainerState::ReferredFiles& began_with) {
  if (names.empty() || model_bank_ == nullptr) return names;
  TrainState target = parts_.state.for_model_bank();
  *target.shared.mutable_began_with() = began_with;
  const PhaseScope phase(ranks(), progress(), RankPhase::kCheckpoint, RankPhase::kStart);
  return model_bank_->fill(target, names, ranks());
}

}  // namespace millrace
