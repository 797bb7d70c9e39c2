#include "framework/trainer_loop.h"

#include <torch/nn/module.h>

#include <algorithm>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/catch_exceptions.h"
#include "base/log.h"
#include "base/scoped_value.h"
#include "base/signals/signals.h"
#include "base/status_macros.h"
#include "checkpoint/state/state_loader.h"
#include "checkpoint/state/state_saver.h"
#include "distributed/collectives.h"
#include "embedding/embedding_collection.h"
#include "framework/loop/phase_timer.h"
#include "framework/loop/schedule_monitor.h"
#include "framework/model/model.h"
#include "framework/ranks/rank_part.h"
#include "framework/report/example_columns.h"
#include "framework/report/metric_set.h"
#include "framework/report/span_metrics.h"

namespace millrace {
namespace {

BatchFeedOptions feed_options(const TrainerOptions& options, const LoopState& loop,
                              const TrainingClock& training) {
  const auto time_left = [&loop, &training] {
    const absl::Duration limit = loop.limits.max_elapsed;
    return limit > absl::ZeroDuration() ? limit - training.total() : absl::InfiniteDuration();
  };
  return {.micro_batches = options.micro_batches,
          .tasks = static_cast<int64_t>(options.tasks.size()),
          .data_timeout = options.data_timeout,
          .stop_waiting = [] { return noted_stop_signal() != 0; },
          .time_left = time_left};
}

EvaluationOptions evaluation_defaults(const TrainerOptions& options) {
  return {.tasks = options.tasks,
          .metrics = options.metrics,
          .metric_configs = options.metric_configs,
          .slices = options.slices,
          .limits = options.evaluation_limits,
          .compute = options.precision.compute()};
}

}  // namespace

TrainerLoop::TrainerLoop(TrainerOptions options, TrainerParts parts,
                         std::unique_ptr<PhaseTimer> timer, MetricSet metrics, SpanMetrics spans)
    : options_(std::move(options)),
      timer_(std::move(timer)),
      parts_(std::move(parts)),
      model_{std::move(parts_.model), std::move(parts_.dense_optimizers),
             std::move(parts_.sparse_optimizer), std::move(parts_.moving_average),
             std::move(parts_.clipping)},
      training_(*parts_.clock),
      // Later members borrow earlier members, so the order is that of the class.
      requests_(parts_.collectives->rank(), parts_.collectives->world_size()),
      recorder_(parts_.event_log.get(), loop_, parts_.collectives->rank(),
                parts_.collectives->world_size()),
      hooks_(*parts_.clock),
      feed_(feed_options(options_, loop_, training_), parts_.train_data.get(), loop_,
            *parts_.collectives, *parts_.clock),
      step_data_(feed_, *model_.model, options_.tasks.size()),
      reporter_(std::move(metrics), std::move(spans), model_.dense_optimizers,
                model_.sparse_optimizer.get(), model_.model_parts.collections, training_),
      watch_(options_.tasks),
      context_({parts_.collectives->rank(), parts_.collectives->world_size(), windowed(),
                options_.report, options_.total_steps},
               loop_.position, requests_, {reporter_.values(), reporter_.distributions()}),
      agreement_(*parts_.collectives, requests_, names_of(parts_.evaluation_sets),
                 static_cast<int64_t>(options_.tasks.size()),
                 context_.world_size() > 1 ? model_.model_parts.tables() : 0),
      tables_(agreement_, *model_.model, model_.model_parts.collections),
      commit_(agreement_, model_.model_parts.parameters, &tables_),
      steps_({model_, commit_, hooks_, context_, &tables_}, std::move(parts_.train_step),
             options_.seed, options_.precision, options_.detect_anomaly),
      evaluations_({model_, hooks_, context_, agreement_, feed_, training_, &tables_},
                   std::move(parts_.evaluation_sets), std::move(parts_.paired_sets),
                   evaluation_defaults(options_), options_.best),
      state_({model_, parts_.train_data.get(), hooks_, reporter_, requests_, evaluations_,
              loop_.position, context_.rank(), context_.world_size()}),
      checkpoints_({state_, evaluations_, hooks_, context_, agreement_, loop_, recorder_},
                   std::move(parts_.saver), std::move(parts_.model_bank),
                   {options_, options_.save_at_end, options_.save_on_failure}),
      server_({requests_, evaluations_, checkpoints_, hooks_, context_, agreement_, reporter_,
               loop_, recorder_},
              {options_.report.at_end, options_.save_best}) {
  loop_.windows_per_epoch = options_.max_windows_per_epoch;
  agreement_.set_boundary([this]() -> std::optional<std::string> {
    const LoopPosition& at = loop_.position;
    if (!loop_.consistency.holds() || checkpoints_.save_failed()) return std::nullopt;
    return absl::StrCat(at.steps_done(), " ", at.progress.epoch, " ", at.progress.window, " ",
                        at.epoch_first_step, " ", at.window_first_step);
  });
  context_.set_gather([this](absl::string_view bytes) -> absl::StatusOr<std::vector<std::string>> {
    RETURN_IF_ERROR(agreement_.meet({"hook", loop_.position.progress.window}));
    return parts_.collectives->all_gather(bytes);
  });
  hooks_.set_event_log(parts_.event_log.get());
  hooks_.set_timer(timer_.get());
}

TrainerLoop::~TrainerLoop() { leave_job(); }

absl::Status TrainerLoop::register_states() {
  for (const auto& set : evaluations_.paired()) {
    RETURN_IF_ERROR(state_.add_object(absl::StrCat("paired evaluation ", set->name()), *set,
                                      StatePlacement::kOnce));
  }
  const auto schedules =
      ScheduleMonitor::find_schedules(model_.dense_optimizers, model_.sparse_optimizer.get());
  if (!schedules.empty()) {
    RETURN_IF_ERROR(hooks_.add(std::make_unique<ScheduleMonitor>(schedules)));
  }
  if (LossScaler* const scaler = steps_.loss_scaler()) {
    RETURN_IF_ERROR(state_.add_object("loss_scale", *scaler, StatePlacement::kOnce));
  }
  return checkpoints_.prepare(model_.tensors_and_tables(), undo_waits());
}

// A wait of a step for a save is a wait for this rank's files: others must not accuse the rank, and
// the step must not wait for a save that cannot be committed any more.
UndoWaits TrainerLoop::undo_waits() {
  const auto changed = [this, within = RankPhase::kUpdate](bool waits) mutable {
    if (waits) within = timer_->phase();
    parts_.collectives->set_phase(waits ? RankPhase::kCheckpoint : within,
                                  loop_.position.steps_done());
  };
  return {.changed = changed, .must_end = [this] { return !parts_.collectives->failure().ok(); }};
}

absl::Status TrainerLoop::check_between_runs(absl::string_view function) const {
  if (!running_) return absl::OkStatus();
  return absl::FailedPreconditionError(absl::StrCat(function, " during a run"));
}

// Collectives under way use buffers of the other parts, so the collectives are destroyed first.
void TrainerLoop::leave_job() {
  feed_.leave_job();
  parts_.collectives.reset();
}

WindowedDataset* TrainerLoop::windows() const {
  return dynamic_cast<WindowedDataset*>(parts_.train_data.get());
}

template <typename Body>
absl::Status TrainerLoop::run(Phase phase, const Body& body) {
  const ScopedValue<bool> running(running_, true);
  const bool trains = phase == Phase::kTrain;
  timer_->begin_run();
  requests_.begin_run();
  server_.begin_run();
  feed_.begin_run();
  evaluations_.begin_run();
  watch_.begin_run();
  checkpoints_.begin_run();
  context_.begin_run(phase);
  agreement_.begin_run();
  recorder_.begin_run(trains ? "train" : "evaluate", trains ? checkpoints_.newest() : "");
  if (trains) {
    checkpoints_.record_changes();
    loop_.position.finished = false;
    loop_.consistency.begin_run();
    training_.start(loop_.position.progress.elapsed);
    requests_.resume(loop_.position.within_pass());
  }
  absl::Status outcome;
  {
    const ScopedValue<bool> starting = context_.starting();
    outcome = hooks_.start(context_);
  }
  if (outcome.ok()) outcome = catch_exceptions("the run", body);
  // A rank that failed anywhere above reports it here, if it did not before.
  outcome = agreement_.settle({"the end of the run"}, outcome);
  if (!outcome.ok() && trains) {
    checkpoints_.save_after_failure();
    outcome = checkpoints_.explain(outcome);
  }
  parts_.collectives->set_phase(RankPhase::kEnd, loop_.position.steps_done());
  absl::Status ended;
  {
    const ScopedValue<bool> ending = context_.ending();
    ended = hooks_.end(context_, outcome);
  }
  training_.stop();
  outcome.Update(agreement_.settle({"leaving"}, ended));
  RunFigures figures = run_figures(trains);
  if (outcome.ok()) count_over_ranks(figures);
  recorder_.end_run(outcome, agreement_.failed_rank(), std::move(figures));
  if (trains && outcome.ok() && context_.rank() == 0) {
    if (const auto warning = watch_.end()) MILLRACE_LOG(WARNING) << *warning;
  }
  return outcome;
}

RunFigures TrainerLoop::run_figures(bool trains) const {
  return {.steps_begun = checkpoints_.steps_begun(),
          .bad_examples = recorder_.summary().bad_examples,
          .checkpoint = checkpoints_.newest(),
          .best = trains ? best() : std::nullopt,
          .hooks = hooks_.statistics(),
          .times = timer_->times(),
          .rows = model_.model_parts.table_rows()};
}

// Replaces the counts of this rank by the sums over all ranks. REQUIRES: the run succeeded on all
// ranks.
void TrainerLoop::count_over_ranks(RunFigures& figures) {
  if (context_.world_size() == 1) return;
  std::vector<int64_t*> counts = {&figures.bad_examples};
  for (auto& [table, rows] : figures.rows) {
    if (tables_.active()) counts.push_back(&rows);
  }
  // Fails if a rank was lost after all had ended well.
  sum_over_ranks(counts).IgnoreError();
}

// Replaces each count by its sum over all ranks. Changes nothing after an error.
absl::Status TrainerLoop::sum_over_ranks(absl::Span<int64_t* const> counts) {
  std::vector<int64_t> sums;
  for (const int64_t* const count : counts) sums.push_back(*count);
  RETURN_IF_ERROR(parts_.collectives->start_sum(absl::MakeSpan(sums))->wait());
  for (size_t i = 0; i < counts.size(); ++i) *counts[i] = sums[i];
  return absl::OkStatus();
}

absl::StatusOr<std::map<std::string, int64_t>> TrainerLoop::count_rows() {
  std::map<std::string, int64_t> rows = model_.model_parts.table_rows();
  if (!tables_.active()) return rows;
  std::vector<int64_t*> counts;
  for (auto& [table, count] : rows) counts.push_back(&count);
  RETURN_IF_ERROR(sum_over_ranks(counts));
  return rows;
}

std::optional<BestSummary> TrainerLoop::best() const {
  if (!evaluations_.best().has_value()) return std::nullopt;
  const auto [value, step] = *evaluations_.best();
  return BestSummary{value, step, checkpoints_.durable_path(step), evaluations_.best_name()};
}

absl::StatusOr<Summary> TrainerLoop::train(absl::string_view function, const RunLimits& limits,
                                           bool evaluate_at_end) {
  if (parts_.train_data == nullptr) {
    return absl::FailedPreconditionError(
        absl::StrCat(function, "() was called, but the trainer has no train_data"));
  }
  ASSIGN_OR_RETURN(loop_.limits, limits_of_run(options_, limits, loop_.position.progress),
                   absl::StrCat(function, "()"));
  RETURN_IF_ERROR(run(Phase::kTrain, [&] {
    requests_.set_caller("");
    if (evaluate_at_end) requests_.evaluate_at_end();
    return train_epochs();
  }));
  return summary();
}

absl::StatusOr<EvaluationResult> TrainerLoop::evaluate(Dataset& data, EvaluationOptions options) {
  std::optional<EvaluationResult> result;
  RETURN_IF_ERROR(run(Phase::kEvaluate, [&]() -> absl::Status {
    RETURN_IF_ERROR(hooks_.before_epoch(context_));
    ASSIGN_OR_RETURN(result, server_.evaluate(data, options));
    if (!result.has_value()) return absl::OkStatus();
    // A stream may have more windows later.
    if (dynamic_cast<WindowedDataset*>(&data) == nullptr) {
      RETURN_IF_ERROR(hooks_.out_of_data(context_, DataEnd::kEpoch));
    }
    RETURN_IF_ERROR(hooks_.after_epoch(context_));
    if (options.consumer != nullptr) return absl::OkStatus();
    return hooks_.after_evaluate(context_, *result);
  }));
  if (!result.has_value()) {
    return absl::CancelledError(absl::StrCat("the evaluation was stopped: ", loop_.stop.reason));
  }
  return *std::move(result);
}

absl::Status TrainerLoop::train_epochs() {
  model_.model->train();
  compare_parameters();
  RETURN_IF_ERROR(server_.serve_common().status());
  while (!server_.training_is_over() && !loop_.position.stream_ended)
    RETURN_IF_ERROR(train_epoch());
  return finish();
}

// Ranks with different copies of the parameters would train different models. The next exchange
// compares the copies. The state of optimizers is not hashed, since a difference there reaches the
// parameters in the next step.
void TrainerLoop::compare_parameters() {
  if (context_.world_size() == 1) return;
  agreement_.served_parameters(loop_.position.steps_done(),
                               model_.model_parts.describe_parameters());
}

absl::Status TrainerLoop::train_epoch() {
  const std::string epoch = absl::StrCat(loop_.position.progress.epoch);
  RETURN_IF_ERROR(catch_part_exceptions("the dataset", [&] { return open_epoch(); }),
                  absl::StrCat("epoch ", epoch));
  recorder_.opened("epoch", epoch);
  RETURN_IF_ERROR(loop_.consistency.suspend([&] { return hooks_.before_epoch(context_); }));
  loop_.position.open_epoch();
  PassEnd end;
  if (windowed()) {
    ASSIGN_OR_RETURN(end, train_windows());
  } else {
    // A resumed epoch also counts the steps made before.
    const int64_t cap = options_.max_steps_per_epoch;
    ASSIGN_OR_RETURN(end, train_pass({"epoch", loop_.position.progress.epoch},
                                     cap > 0 ? loop_.position.epoch_first_step + cap : 0,
                                     /*may_be_empty=*/loop_.position.cursor.has_value()));
  }
  if (end == PassEnd::kInterrupted) return absl::OkStatus();
  return complete_epoch(end == PassEnd::kOutOfData);
}

absl::Status TrainerLoop::open_epoch() {
  if (!loop_.position.cursor.has_value())
    return parts_.train_data->start_epoch(loop_.position.progress.epoch);
  if (!loop_.position.former_ranks.empty())
    return parts_.train_data->seek(loop_.position.former_ranks);
  // Each rank continues at its own cursor, but seek() needs the cursors of all ranks, as after a
  // resume.
  RETURN_IF_ERROR(agreement_.meet({"open epoch", loop_.position.progress.epoch}));
  ASSIGN_OR_RETURN(const std::vector<Cursor> cursors,
                   gather_cursors(*loop_.position.cursor, *parts_.collectives));
  return parts_.train_data->seek(cursors);
}

absl::Status TrainerLoop::complete_epoch(bool out_of_data) {
  return loop_.consistency.suspend([&]() -> absl::Status {
    if (out_of_data) {
      const DataEnd end = windowed() ? DataEnd::kStream : DataEnd::kEpoch;
      RETURN_IF_ERROR(hooks_.out_of_data(context_, end));
    }
    recorder_.closed("epoch", absl::StrCat(loop_.position.progress.epoch));
    loop_.position.complete_epoch(/*stream_continues=*/windowed() && !out_of_data);
    // max_epochs ends training on a stream that can begin again.
    if (windowed() && windows()->can_restart() && options_.max_epochs > 0 &&
        evaluations_.paired().empty()) {
      loop_.position.stream_ended = false;
    }
    RETURN_IF_ERROR(hooks_.after_epoch(context_));
    RETURN_IF_ERROR(report_if_due());
    return server_.serve_common().status();
  });
}

absl::StatusOr<TrainerLoop::PassEnd> TrainerLoop::train_windows() {
  while (true) {
    if (loop_.epoch_is_full()) return PassEnd::kCap;
    ASSIGN_OR_RETURN(const std::optional<WindowState> state, wait_for_window(*windows()));
    if (!state.has_value()) return PassEnd::kInterrupted;
    loop_.position.stream_ended = state->kind == WindowState::kEnded;
    if (loop_.position.stream_ended && !evaluations_.paired().empty())
      MILLRACE_LOG(INFO) << "the windows to train on have ended";
    if (loop_.position.stream_ended) return PassEnd::kOutOfData;
    loop_.position.open_window(state->window);
    recorder_.opened("window", state->window.name);
    if (!state->window.damage.empty()) recorder_.damaged_window();
    // A failure here leaves hooks between two states, which no checkpoint may contain.
    RETURN_IF_ERROR(loop_.consistency.suspend([&]() -> absl::Status {
      {
        // A hook may read the window.
        const PhaseScope reading(*parts_.collectives, progress(), RankPhase::kWindowWait);
        RETURN_IF_ERROR(hooks_.before_window(context_, state->window));
      }
      return evaluate_window();
    }));
    if (loop_.stop.stopped) return PassEnd::kInterrupted;
    const int64_t cap = options_.max_steps_per_window;
    ASSIGN_OR_RETURN(const PassEnd end,
                     train_pass({"window", state->window.index},
                                cap > 0 ? loop_.position.window_first_step + cap : 0,
                                /*may_be_empty=*/true));
    if (end == PassEnd::kInterrupted) return end;
    // Precedes complete_window(), so that a run that stops here evaluates the window when it
    // resumes.
    RETURN_IF_ERROR(loop_.consistency.suspend([&] { return evaluate_paired(state->window); }));
    if (loop_.stop.stopped) return PassEnd::kInterrupted;
    RETURN_IF_ERROR(complete_window(state->window, end == PassEnd::kOutOfData));
    if (loop_.position.stream_ended) return PassEnd::kOutOfData;
    if (server_.training_is_over()) return PassEnd::kInterrupted;
  }
}

// Returns a window that is ready or the end of the stream; none if a stop or a limit came first.
absl::StatusOr<std::optional<WindowState>> TrainerLoop::wait_for_window(WindowedDataset& windows) {
  while (true) {
    RETURN_IF_ERROR(
        agreement_.meet({"window wait", loop_.position.progress.window}, share(nullptr)));
    update_elapsed();
    RETURN_IF_ERROR(checkpoints_.poll(agreement_.result()));
    ASSIGN_OR_RETURN(const bool agreed, server_.serve_agreed());
    // A cadence in time that triggers during the wait is served after the next step.
    ASSIGN_OR_RETURN(const bool common, server_.serve_common(/*marks=*/false));
    if (server_.training_is_over()) return std::nullopt;
    if (agreed || common) continue;
    // Only this time has no limit: the exchange and the requests above end in time on every rank.
    const PhaseScope waiting(*parts_.collectives, progress(), RankPhase::kWindowWait);
    ASSIGN_OR_RETURN(const WindowState state, windows.next_window(), "looking for a window");
    if (state.kind != WindowState::kNotYet) return state;
    parts_.clock->sleep(options_.poll_interval);
  }
}

// Called before training on the window, so that the metrics measure data that the model has not
// seen.
absl::Status TrainerLoop::evaluate_window() {
  if (!options_.progressive_evaluation) return absl::OkStatus();
  ASSIGN_OR_RETURN(const std::unique_ptr<Dataset> data, windows()->open_window_again({}));
  if (data == nullptr) return absl::OkStatus();
  ASSIGN_OR_RETURN(const std::optional<EvaluationResult> result,
                   server_.evaluate(*data, named(kNextWindow)));
  return result.has_value() ? server_.report_evaluation(*result) : absl::OkStatus();
}

// Evaluates a window of each paired set. If a set has ended, training ends with this window.
absl::Status TrainerLoop::evaluate_paired(const Window& window) {
  for (const std::unique_ptr<PairedEvaluation>& set : evaluations_.paired()) {
    if (set->was_evaluated(window.index)) continue;
    ASSIGN_OR_RETURN(WindowedDataset* const windows, set->stream(),
                     absl::StrCat("evaluation set ", set->name()));
    ASSIGN_OR_RETURN(const std::optional<WindowState> state, wait_for_window(*windows),
                     absl::StrCat("evaluation set ", set->name()));
    if (!state.has_value()) return absl::OkStatus();
    if (state->kind == WindowState::kEnded) {
      loop_.position.stream_ended = true;
      MILLRACE_LOG(INFO) << "the windows of evaluation set " << set->name()
                         << " have ended, and training ends with them";
      continue;
    }
    ASSIGN_OR_RETURN(const std::optional<EvaluationResult> result,
                     server_.evaluate(set->open_window(), named(set->name(), set->metrics())));
    if (!result.has_value()) return absl::OkStatus();
    set->evaluated(state->window, window.index);
    RETURN_IF_ERROR(server_.report_evaluation(*result));
  }
  return absl::OkStatus();
}

absl::Status TrainerLoop::complete_window(const Window& window, bool out_of_data) {
  return loop_.consistency.suspend([&]() -> absl::Status {
    if (out_of_data) RETURN_IF_ERROR(hooks_.out_of_data(context_, DataEnd::kWindow));
    recorder_.closed("window", window.name);
    loop_.position.complete_window(window);
    RETURN_IF_ERROR(hooks_.after_window(context_, window));
    RETURN_IF_ERROR(report_if_due());
    return server_.serve_common().status();
  });
}

// Trains on the epoch or window that the dataset has open. `max_steps` limits the value of
// steps_done(), which counts from the very first run (0: no limit).
absl::StatusOr<TrainerLoop::PassEnd> TrainerLoop::train_pass(Place place, int64_t max_steps,
                                                             bool may_be_empty) {
  ASSIGN_OR_RETURN(std::unique_ptr<StepData> next, step_data_.next_step());
  // The first exchange of a pass is synchronous, because no computation can hide it.
  RETURN_IF_ERROR(agreement_.meet(place, share(next.get())));
  ExchangeResult agreed = agreement_.result();
  if (agreed.time_is_up > 0) update_elapsed();
  RETURN_IF_ERROR(server_.serve_agreed().status());
  requests_.resume_due_later();
  if (loop_.stop.stopped) return PassEnd::kInterrupted;
  RETURN_IF_ERROR(feed_.check_interruption());
  if (!may_be_empty) RETURN_IF_ERROR(check_data(agreed, place));
  while (has_next_step(agreed)) {
    if (limit_reached(loop_.limits, loop_.position.progress)) return PassEnd::kInterrupted;
    if (max_steps > 0 && loop_.position.steps_done() >= max_steps) return PassEnd::kCap;
    std::unique_ptr<StepData> current = std::move(next);
    if (current == nullptr) {
      ASSIGN_OR_RETURN(current, step_data_.padding());
    }
    const ExchangeResult of_step = std::move(agreed);
    if (current->examples > 0) {
      ASSIGN_OR_RETURN(next, step_data_.next_step());
    }
    ASSIGN_OR_RETURN(agreed, run_step(*current, of_step, next.get()));
    if (loop_.stop.stopped) return PassEnd::kInterrupted;
    RETURN_IF_ERROR(feed_.check_interruption());
  }
  if (agreed.ranks_with_data > 0) RETURN_IF_ERROR(drop_rest(std::move(next)));
  return loop_.stop.stopped ? PassEnd::kInterrupted : PassEnd::kOutOfData;
}

// Refuses an epoch without a step, which would repeat for ever.
absl::Status TrainerLoop::check_data(const ExchangeResult& agreed, Place place) const {
  if (agreed.ranks_with_data == 0) {
    return absl::InvalidArgumentError(
        absl::StrCat(place.what, " ", place.number,
                     ": the training data has no examples; check its paths and split"));
  }
  if (!has_next_step(agreed) && options_.max_epochs == 0) {
    return absl::InvalidArgumentError(
        "a rank has no examples, so with uneven_data: UNTIL_FIRST no epoch has a step; use "
        "fewer ranks, more data or UNTIL_LAST");
  }
  return absl::OkStatus();
}

bool TrainerLoop::has_next_step(const ExchangeResult& agreed) const {
  return options_.until_first ? agreed.ranks_with_data == context_.world_size()
                              : agreed.ranks_with_data > 0;
}

// Counts the remaining examples of all ranks after the first rank has run out of data, until a rank
// asks to stop or time is up. The ranks meet every poll interval, since one rank may have much to
// count.
absl::Status TrainerLoop::drop_rest(std::unique_ptr<StepData> next) {
  RankShare share = this->share(next.get());
  share.has_data = next != nullptr;
  ExchangeResult agreed;
  do {
    if (share.has_data) {
      ASSIGN_OR_RETURN(share.has_data, feed_.count_rest(options_.poll_interval, &share.examples));
    }
    share.elapsed = training_.total();
    share.time_is_up = feed_.time_is_up();
    RETURN_IF_ERROR(agreement_.meet({"dropping", loop_.position.steps_done()}, share));
    agreed = agreement_.result();
    update_elapsed();
    // Counting may take long, so each round serves requests: a stop must not wait for the end.
    RETURN_IF_ERROR(server_.serve_agreed().status());
    RETURN_IF_ERROR(feed_.check_interruption());
  } while (agreed.ranks_with_data > 0 && !loop_.stop.stopped &&
           !time_is_up(loop_.limits, loop_.position.progress));
  const int64_t dropped = agreed.examples;
  recorder_.dropped_examples(dropped);
  if (dropped > 0) {
    MILLRACE_LOG(WARNING) << "a rank is out of data: " << dropped
                          << " examples of other ranks are dropped (uneven_data: UNTIL_FIRST)";
  }
  return absl::OkStatus();
}

// Returns what the ranks agreed on for the next step.
absl::StatusOr<ExchangeResult> TrainerLoop::run_step(const StepData& data,
                                                     const ExchangeResult& of_step,
                                                     const StepData* next) {
  RETURN_IF_ERROR(checkpoints_.open());
  // Here all ranks are at this step and have the same tables.
  for (const EmbeddingCollection* collection : model_.model_parts.collections) {
    RETURN_IF_ERROR(collection->check_step(loop_.position.progress.step + 1));
  }
  agreement_.start({kStepPlace, loop_.position.steps_done() + 1}, share(next));
  // Failures since the last exchange must be reported before an exchange of tables. The step waits
  // for the rows of all ranks in any case.
  if (tables_.active()) {
    RETURN_IF_ERROR(agreement_.verify());
    tables_.set_rows(agreement_.result().rows);
  }
  checkpoints_.begin_step();
  ExchangeResult agreed;
  RETURN_IF_ERROR(loop_.consistency.suspend([&]() -> absl::Status {
    absl::Span<const int64_t> targets;
    if (!data.targets.empty()) targets = of_step.targets;
    ASSIGN_OR_RETURN(StepResult result, steps_.run(data, of_step.examples, targets));
    add_example_columns(data.micro_batches, options_.slices, result);
    agreed = agreement_.result();
    advance(result);
    for (const Batch& batch : data.micro_batches) recorder_.bad_examples(batch.bad_examples);
    // Precedes serving, because a checkpoint holds the position after this step.
    loop_.position.after_step(data.micro_batches.back().cursor, !has_next_step(agreed));
    RETURN_IF_ERROR(steps_.after_backward_status());
    // Part of the update phase, also in messages of other ranks about this rank.
    if (result.applied) {
      RETURN_IF_ERROR(tables_.enforce_limits({"eviction", loop_.position.steps_done()}));
    }
    parts_.collectives->set_phase(RankPhase::kBetweenSteps, loop_.position.steps_done());
    if (result.applied) {
      const Progress& progress = loop_.position.progress;
      RETURN_IF_ERROR(reporter_.add(result, {progress.epoch, progress.window}));
    }
    RETURN_IF_ERROR(hooks_.after_step(context_, result));
    RETURN_IF_ERROR(checkpoints_.poll(agreed));
    RETURN_IF_ERROR(report_if_due());
    RETURN_IF_ERROR(server_.serve_common().status());
    return server_.serve_agreed().status();
  }));
  return agreed;
}

void TrainerLoop::advance(const StepResult& result) {
  update_elapsed();
  if (result.applied) {
    ++loop_.position.progress.step;
    loop_.position.progress.examples += result.examples;
    return;
  }
  ++loop_.position.progress.skipped_steps;
  loop_.position.progress.skipped_examples += result.examples;
  recorder_.refused_step(result.refused);
}

// Uses rank 0's time from the last exchange, so that all ranks agree. A single rank needs no
// exchange. If any rank waited for data until its time was up, the limit is reached on all ranks.
void TrainerLoop::update_elapsed() {
  const ExchangeResult& agreed = agreement_.result();
  absl::Duration elapsed = context_.world_size() == 1
                               ? training_.total()
                               : std::max(loop_.position.progress.elapsed, agreed.elapsed);
  if (agreed.time_is_up > 0) elapsed = std::max(elapsed, loop_.limits.max_elapsed);
  loop_.position.progress.elapsed = elapsed;
}

RankShare TrainerLoop::share(const StepData* next) const {
  // An interrupted rank may have more data without knowing it.
  RankShare share;
  share.has_data = next != nullptr || feed_.interrupted();
  if (next != nullptr) {
    share.examples = next->examples;
    share.targets = next->targets;
  }
  share.rows = tables_.rows();
  share.elapsed = training_.total();
  share.time_is_up = feed_.time_is_up();
  share.durable = checkpoints_.save_ready();
  return share;
}

absl::Status TrainerLoop::report_if_due() {
  if (!context_.due(options_.report) || reporter_.steps() == 0) return absl::OkStatus();
  return report();
}

absl::Status TrainerLoop::report() {
  RETURN_IF_ERROR(catch_part_exceptions("the report", [this] {
    compare_parameters();
    return reporter_.fold();
  }));
  RETURN_IF_ERROR(agreement_.meet({"report", loop_.position.steps_done()}));
  ASSIGN_OR_RETURN(const Report report, catch_part_exceptions("the report", [this] {
                     return reporter_.take(loop_.position.progress, *parts_.collectives,
                                           std::exchange(agreement_.figures(), {}));
                   }));
  recorder_.reported(report);
  for (const std::string& warning : watch_.add(report)) {
    if (context_.rank() == 0) MILLRACE_LOG(WARNING) << warning;
  }
  return hooks_.after_report(context_, report);
}

absl::Status TrainerLoop::finish() {
  requests_.resume_due_later();
  RETURN_IF_ERROR(agreement_.meet({"finish"}, share(nullptr)));
  update_elapsed();
  RETURN_IF_ERROR(server_.serve_agreed(/*ending=*/true).status());
  return loop_.consistency.suspend([&]() -> absl::Status {
    // If a resumed run will continue the report, that run writes the complete report.
    const bool continues = loop_.stop.by_rank && checkpoints_.has_saver() && options_.save_at_end;
    if (options_.report.at_end && reporter_.steps() > 0 && !continues) RETURN_IF_ERROR(report());
    RETURN_IF_ERROR(server_.serve_common().status());
    if (!loop_.stop.by_rank) {
      RETURN_IF_ERROR(server_.serve_at_end());
      RETURN_IF_ERROR(server_.serve_common().status());
    }
    return checkpoints_.save_at_end();
  });
}

}  // namespace millrace
