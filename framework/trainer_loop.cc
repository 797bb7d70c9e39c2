#include "framework/trainer_loop.h"

#include <torch/nn/module.h>

#include <algorithm>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/catch_exceptions.h"
#include "base/log.h"
#include "base/scoped_value.h"
#include "base/signals/stop_signals.h"
#include "base/status_macros.h"
#include "checkpoint/state/state_loader.h"
#include "checkpoint/state/state_saver.h"
#include "distributed/collectives.h"
#include "embedding/embedding_collection.h"
#include "framework/loop/phase_scope.h"
#include "framework/loop/phase_timer.h"
#include "framework/loop/schedule_monitor.h"
#include "framework/model/model.h"
#include "framework/ranks/gather_cursors.h"
#include "framework/report/example_columns.h"
#include "framework/report/metric_set.h"
#include "framework/report/span_metrics.h"

namespace millrace {
namespace {

BatchFeedOptions feed_options(const TrainerOptions& options, const TrainingClock& training) {
  std::function<absl::Duration()> time_left;
  if (options.max_elapsed > absl::ZeroDuration()) {
    time_left = [limit = options.max_elapsed, &training] { return limit - training.total(); };
  }
  return {.micro_batches = options.micro_batches,
          .tasks = static_cast<int64_t>(options.tasks.size()),
          .data_timeout = options.data_timeout,
          .stop_waiting = [] { return noted_stop_signal() != 0; },
          .time_left = std::move(time_left)};
}

EvaluationOptions evaluation_defaults(const TrainerOptions& options) {
  return {.tasks = options.tasks,
          .metrics = options.metrics,
          .metric_configs = options.metric_configs,
          .slices = options.slices,
          .max_steps = options.max_evaluation_steps,
          .compute = options.precision.compute()};
}

}  // namespace

TrainerLoop::TrainerLoop(TrainerOptions options, TrainerParts parts,
                         std::unique_ptr<PhaseTimer> timer, MetricSet metrics, SpanMetrics spans)
    : options_(std::move(options)),
      timer_(std::move(timer)),
      parts_(std::move(parts)),
      model_parts_(*parts_.model),
      training_(*parts_.clock),
      requests_(parts_.collectives->rank(), parts_.collectives->world_size()),
      recorder_(parts_.event_log.get(), position_, parts_.collectives->rank(),
                parts_.collectives->world_size()),
      hooks_(*parts_.clock),
      feed_(feed_options(options_, training_), parts_.train_data.get(), position_,
            *parts_.collectives, *parts_.clock),
      step_data_(feed_, *parts_.model, options_.tasks.size()),
      reporter_(std::move(metrics), std::move(spans), parts_.dense_optimizers,
                parts_.sparse_optimizer.get(), model_parts_.collections, training_),
      watch_(options_.tasks),
      context_({parts_.collectives->rank(), parts_.collectives->world_size(), windowed(),
                options_.report},
               position_, requests_, {reporter_.values(), reporter_.distributions()}),
      agreement_(*parts_.collectives, requests_, names_of(parts_.evaluation_sets),
                 static_cast<int64_t>(options_.tasks.size()),
                 context_.world_size() > 1 ? model_parts_.tables() : 0),
      tables_(agreement_, *parts_.model, model_parts_.collections),
      steps_({*parts_.model, model_parts_, parts_.dense_optimizers, parts_.sparse_optimizer.get(),
              *parts_.train_step, agreement_, hooks_, context_, position_,
              parts_.clipping.has_value() ? &*parts_.clipping : nullptr,
              parts_.moving_average.get(), &tables_},
             options_.seed, options_.precision),
      evaluations_(
          {*parts_.model, parts_.evaluation_sets, hooks_, context_, agreement_, feed_, training_,
           position_, stop_, recorder_, *parts_.clock, evaluated_average(), &tables_},
          std::move(parts_.paired_sets), evaluation_defaults(options_)),
      best_(options_.best),
      state_({*parts_.model, model_parts_, parts_.dense_optimizers, parts_.train_data.get(), hooks_,
              reporter_, requests_, evaluations_, best_, position_, context_.rank(),
              context_.world_size(), parts_.moving_average.get()}),
      checkpoints_({parts_.saver.get(), parts_.model_bank.get(), state_, evaluations_, hooks_,
                    context_, agreement_, consistency_, position_, stop_, recorder_},
                   {options_, options_.save_at_end, options_.save_on_failure}),
      server_({requests_, evaluations_, best_, checkpoints_, hooks_, context_, agreement_,
               consistency_, reporter_, position_, stop_, recorder_},
              {options_, options_.report.at_end, options_.save_best}) {
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
      ScheduleMonitor::find_schedules(parts_.dense_optimizers, parts_.sparse_optimizer.get());
  if (!schedules.empty()) {
    RETURN_IF_ERROR(hooks_.add(std::make_unique<ScheduleMonitor>(schedules)));
  }
  if (LossScaler* const scaler = steps_.loss_scaler()) {
    RETURN_IF_ERROR(state_.add_object("loss_scale", *scaler, StatePlacement::kOnce));
  }
  StateSaver* const saver = parts_.saver.get();
  if (saver != nullptr) RETURN_IF_ERROR(saver->check(state_.tensors_and_tables()));
  StateLoader* const bank = parts_.model_bank.get();
  if (bank != nullptr && bank->dynamic()) {
    RETURN_IF_ERROR(state_.add_object(kModelBank, *bank, StatePlacement::kOnce));
  }
  return absl::OkStatus();
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

MovingAverage* TrainerLoop::evaluated_average() const {
  MovingAverage* const average = parts_.moving_average.get();
  return average != nullptr && average->evaluates() ? average : nullptr;
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
    position_.finished = false;
    consistency_.begin_run();
    training_.start(position_.progress.elapsed);
    requests_.resume(position_.within_pass());
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
  parts_.collectives->set_phase(RankPhase::kEnd, position_.steps_done());
  absl::Status ended;
  {
    const ScopedValue<bool> ending = context_.ending();
    ended = hooks_.end(context_, outcome);
  }
  training_.stop();
  outcome.Update(agreement_.settle({"leaving"}, ended));
  Summary& summary = recorder_.summary();
  summary.steps_begun = checkpoints_.steps_begun();
  summary.checkpoint = checkpoints_.newest();
  if (trains) summary.best = best();
  summary.hooks = hooks_.statistics();
  summary.times = timer_->times();
  summary.rows = model_parts_.table_rows();
  if (outcome.ok()) count_over_ranks(summary);
  recorder_.end_run(outcome, stop_, agreement_.failed_rank());
  if (trains && outcome.ok() && context_.rank() == 0) {
    if (const auto warning = watch_.end()) MILLRACE_LOG(WARNING) << *warning;
  }
  return outcome;
}

// Replaces the counts of this rank by the sums over all ranks. REQUIRES: the run succeeded on all
// ranks.
void TrainerLoop::count_over_ranks(Summary& summary) {
  if (context_.world_size() == 1) return;
  std::vector<int64_t*> counts = {&summary.bad_examples};
  for (auto& [table, rows] : summary.rows) {
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
  std::map<std::string, int64_t> rows = model_parts_.table_rows();
  if (!tables_.active()) return rows;
  std::vector<int64_t*> counts;
  for (auto& [table, count] : rows) counts.push_back(&count);
  RETURN_IF_ERROR(sum_over_ranks(counts));
  return rows;
}

std::optional<BestSummary> TrainerLoop::best() const {
  if (!best_.best().has_value()) return std::nullopt;
  const auto [value, step] = *best_.best();
  return BestSummary{value, step, checkpoints_.durable_path(step), best_.name()};
}

absl::StatusOr<Summary> TrainerLoop::train(absl::string_view function, bool evaluate_at_end) {
  if (parts_.train_data == nullptr) {
    return absl::FailedPreconditionError(
        absl::StrCat(function, "() was called, but the trainer has no train_data"));
  }
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
    RETURN_IF_ERROR(hooks_.out_of_data(context_, DataEnd::kEpoch));
    RETURN_IF_ERROR(hooks_.after_epoch(context_));
    return hooks_.after_evaluate(context_, *result);
  }));
  if (!result.has_value()) {
    return absl::CancelledError(absl::StrCat("the evaluation was stopped: ", stop_.reason));
  }
  return *std::move(result);
}

absl::Status TrainerLoop::train_epochs() {
  parts_.model->train();
  RETURN_IF_ERROR(check_parameters());
  RETURN_IF_ERROR(server_.serve_common().status());
  while (!server_.training_is_over() && !position_.stream_ended) RETURN_IF_ERROR(train_epoch());
  return finish();
}

// Ranks that begin with different parameters would train different models. The first exchange
// detects them.
absl::Status TrainerLoop::check_parameters() {
  if (context_.world_size() == 1) return absl::OkStatus();
  agreement_.served(model_parts_.describe_parameters());
  return absl::OkStatus();
}

absl::Status TrainerLoop::train_epoch() {
  const std::string epoch = absl::StrCat(position_.progress.epoch);
  RETURN_IF_ERROR(catch_part_exceptions("the dataset", [&] { return open_epoch(); }),
                  absl::StrCat("epoch ", epoch));
  recorder_.opened("epoch", epoch);
  RETURN_IF_ERROR(consistency_.suspend([&] { return hooks_.before_epoch(context_); }));
  position_.open_epoch();
  PassEnd end;
  if (windowed()) {
    ASSIGN_OR_RETURN(end, train_windows());
  } else {
    // A resumed epoch also counts the steps made before.
    const int64_t cap = options_.max_steps_per_epoch;
    ASSIGN_OR_RETURN(end, train_pass({"epoch", position_.progress.epoch},
                                     cap > 0 ? position_.epoch_first_step + cap : 0,
                                     /*may_be_empty=*/position_.cursor.has_value()));
  }
  if (end == PassEnd::kInterrupted) return absl::OkStatus();
  return complete_epoch(end == PassEnd::kOutOfData);
}

absl::Status TrainerLoop::open_epoch() {
  if (!position_.cursor.has_value())
    return parts_.train_data->start_epoch(position_.progress.epoch);
  if (!position_.former_ranks.empty()) return parts_.train_data->seek(position_.former_ranks);
  // Each rank continues at its own cursor, but seek() needs the cursors of all ranks, as after a
  // resume.
  RETURN_IF_ERROR(agreement_.meet({"open epoch", position_.progress.epoch}));
  ASSIGN_OR_RETURN(const std::vector<Cursor> cursors,
                   gather_cursors(*position_.cursor, *parts_.collectives));
  return parts_.train_data->seek(cursors);
}

absl::Status TrainerLoop::complete_epoch(bool out_of_data) {
  if (out_of_data) {
    RETURN_IF_ERROR(hooks_.out_of_data(context_, windowed() ? DataEnd::kStream : DataEnd::kEpoch));
  }
  return consistency_.suspend([&]() -> absl::Status {
    recorder_.closed("epoch", absl::StrCat(position_.progress.epoch));
    position_.complete_epoch();
    RETURN_IF_ERROR(hooks_.after_epoch(context_));
    RETURN_IF_ERROR(report_if_due());
    return server_.serve_common().status();
  });
}

absl::StatusOr<TrainerLoop::PassEnd> TrainerLoop::train_windows() {
  while (true) {
    ASSIGN_OR_RETURN(const std::optional<WindowState> state, wait_for_window(*windows()));
    if (!state.has_value()) return PassEnd::kInterrupted;
    position_.stream_ended = state->kind == WindowState::kEnded;
    if (position_.stream_ended && !evaluations_.paired().empty())
      MILLRACE_LOG(INFO) << "the windows to train on have ended";
    if (position_.stream_ended) return PassEnd::kOutOfData;
    position_.open_window(state->window);
    recorder_.opened("window", state->window.name);
    if (!state->window.damage.empty()) ++recorder_.summary().damaged_windows;
    RETURN_IF_ERROR(consistency_.suspend([&]() -> absl::Status {
      RETURN_IF_ERROR(hooks_.before_window(context_, state->window));
      return evaluate_window();
    }));
    if (stop_.stopped) return PassEnd::kInterrupted;
    const int64_t cap = options_.max_steps_per_window;
    ASSIGN_OR_RETURN(const PassEnd end, train_pass({"window", state->window.index},
                                                   cap > 0 ? position_.window_first_step + cap : 0,
                                                   /*may_be_empty=*/true));
    if (end == PassEnd::kInterrupted) return end;
    RETURN_IF_ERROR(consistency_.suspend([&] { return evaluate_paired(state->window); }));
    if (stop_.stopped) return PassEnd::kInterrupted;
    RETURN_IF_ERROR(complete_window(state->window, end == PassEnd::kOutOfData));
    if (position_.stream_ended) return PassEnd::kOutOfData;
    if (server_.training_is_over()) return PassEnd::kInterrupted;
  }
}

// Returns a window that is ready or the end of the stream; none if a stop or a limit came first.
absl::StatusOr<std::optional<WindowState>> TrainerLoop::wait_for_window(WindowedDataset& windows) {
  while (true) {
    const PhaseScope waiting(*parts_.collectives, position_, RankPhase::kWindowWait);
    RETURN_IF_ERROR(agreement_.meet({"window wait", position_.progress.window}, share(nullptr)));
    update_elapsed();
    RETURN_IF_ERROR(checkpoints_.poll(agreement_.result()));
    ASSIGN_OR_RETURN(const bool agreed, server_.serve_agreed());
    // A cadence in time that triggers during the wait is served after the next step.
    ASSIGN_OR_RETURN(const bool common, server_.serve_common(/*marks=*/false));
    if (server_.training_is_over()) return std::nullopt;
    if (agreed || common) continue;
    ASSIGN_OR_RETURN(const WindowState state, windows.next_window(), "looking for a window");
    if (state.kind != WindowState::kNotYet) return state;
    parts_.clock->sleep(options_.poll_interval);
  }
}

// Called before training on the window, so that the metrics measure data that the model has not
// seen.
absl::Status TrainerLoop::evaluate_window() {
  if (!options_.progressive_evaluation) return absl::OkStatus();
  ASSIGN_OR_RETURN(const std::unique_ptr<Dataset> data, windows()->open_window_again());
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
      position_.stream_ended = true;
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
  if (out_of_data) RETURN_IF_ERROR(hooks_.out_of_data(context_, DataEnd::kWindow));
  return consistency_.suspend([&]() -> absl::Status {
    recorder_.closed("window", window.name);
    position_.complete_window(window);
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
  if (stop_.stopped) return PassEnd::kInterrupted;
  RETURN_IF_ERROR(feed_.check_interruption(stop_));
  if (!may_be_empty) RETURN_IF_ERROR(check_data(agreed, place));
  while (goes_on(agreed)) {
    if (limit_reached(options_, position_.progress)) return PassEnd::kInterrupted;
    if (max_steps > 0 && position_.steps_done() >= max_steps) return PassEnd::kCap;
    std::unique_ptr<StepData> current = std::move(next);
    if (current == nullptr) {
      ASSIGN_OR_RETURN(current, step_data_.padding());
    }
    const ExchangeResult of_step = std::move(agreed);
    if (current->examples > 0) {
      ASSIGN_OR_RETURN(next, step_data_.next_step());
    }
    ASSIGN_OR_RETURN(agreed, run_step(*current, of_step, next.get()));
    if (stop_.stopped) return PassEnd::kInterrupted;
    RETURN_IF_ERROR(feed_.check_interruption(stop_));
  }
  if (agreed.ranks_with_data > 0) RETURN_IF_ERROR(drop_rest(std::move(next)));
  return stop_.stopped ? PassEnd::kInterrupted : PassEnd::kOutOfData;
}

// Refuses an epoch without a step, which would repeat for ever.
absl::Status TrainerLoop::check_data(const ExchangeResult& agreed, Place place) const {
  if (agreed.ranks_with_data == 0) {
    return absl::InvalidArgumentError(
        absl::StrCat(place.what, " ", place.number,
                     ": the training data has no examples; check its paths and split"));
  }
  if (!goes_on(agreed) && options_.max_epochs == 0) {
    return absl::InvalidArgumentError(
        "a rank has no examples, so with uneven_data: UNTIL_FIRST no epoch has a step; use "
        "fewer ranks, more data or UNTIL_LAST");
  }
  return absl::OkStatus();
}

bool TrainerLoop::goes_on(const ExchangeResult& agreed) const {
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
    RETURN_IF_ERROR(agreement_.meet({"dropping", position_.steps_done()}, share));
    agreed = agreement_.result();
    update_elapsed();
    RETURN_IF_ERROR(server_.serve_agreed().status());
    RETURN_IF_ERROR(feed_.check_interruption(stop_));
  } while (agreed.ranks_with_data > 0 && !stop_.stopped &&
           !time_is_up(options_, position_.progress));
  const int64_t dropped = agreed.examples;
  recorder_.summary().dropped_examples += dropped;
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
  for (const EmbeddingCollection* collection : model_parts_.collections) {
    RETURN_IF_ERROR(collection->check_step(position_.progress.step + 1));
  }
  agreement_.start({kStepPlace, position_.steps_done() + 1}, share(next));
  // Failures since the last exchange must be reported before an exchange of tables. The step waits
  // for the rows of all ranks in any case.
  if (tables_.active()) {
    RETURN_IF_ERROR(agreement_.verify());
    tables_.set_rows(agreement_.result().rows);
  }
  checkpoints_.begin_step();
  ExchangeResult agreed;
  RETURN_IF_ERROR(consistency_.suspend([&]() -> absl::Status {
    absl::Span<const int64_t> targets;
    if (!data.targets.empty()) targets = of_step.targets;
    ASSIGN_OR_RETURN(StepResult result, steps_.run(data, of_step.examples, targets));
    add_example_columns(data.micro_batches, options_.slices, result);
    agreed = agreement_.result();
    advance(result);
    for (const Batch& batch : data.micro_batches) {
      recorder_.summary().bad_examples += batch.bad_examples;
    }
    // Precedes serving, because a checkpoint holds the position after this step.
    position_.after_step(data.micro_batches.back().cursor, !goes_on(agreed));
    RETURN_IF_ERROR(steps_.after_backward_status());
    // Part of the update phase, also in messages of other ranks about this rank.
    if (result.applied) {
      RETURN_IF_ERROR(tables_.enforce_limits({"eviction", position_.steps_done()}));
    }
    parts_.collectives->set_phase(RankPhase::kBetweenSteps, position_.steps_done());
    if (result.applied) {
      const Progress& progress = position_.progress;
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
    ++position_.progress.step;
    position_.progress.examples += result.examples;
    return;
  }
  ++position_.progress.skipped_steps;
  position_.progress.skipped_examples += result.examples;
  recorder_.refused_step(result.refused);
}

// Uses rank 0's time from the last exchange, so that all ranks agree. A single rank needs no
// exchange. If any rank waited for data until its time was up, the limit is reached on all ranks.
void TrainerLoop::update_elapsed() {
  const ExchangeResult& agreed = agreement_.result();
  absl::Duration elapsed = context_.world_size() == 1
                               ? training_.total()
                               : std::max(position_.progress.elapsed, agreed.elapsed);
  if (agreed.time_is_up > 0) elapsed = std::max(elapsed, options_.max_elapsed);
  position_.progress.elapsed = elapsed;
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
  share.durable = parts_.saver != nullptr && parts_.saver->ready();
  return share;
}

absl::Status TrainerLoop::report_if_due() {
  if (!context_.due(options_.report) || reporter_.steps() == 0) return absl::OkStatus();
  return report();
}

absl::Status TrainerLoop::report() {
  RETURN_IF_ERROR(catch_part_exceptions("the report", [this] { return reporter_.fold(); }));
  RETURN_IF_ERROR(agreement_.meet({"report", position_.steps_done()}));
  ASSIGN_OR_RETURN(const Report report, catch_part_exceptions("the report", [this] {
                     return reporter_.take(position_.progress, *parts_.collectives,
                                           std::exchange(agreement_.figures(), {}));
                   }));
  recorder_.summary().train = report.metrics;
  recorder_.summary().train_report = {
      .step = report.progress.step, .steps = report.steps, .examples = report.examples};
  for (const std::string& warning : watch_.add(report)) {
    if (context_.rank() == 0) MILLRACE_LOG(WARNING) << warning;
  }
  for (const auto& [name, table] : report.tables) recorder_.evicted(name, table.evicted);
  return hooks_.after_report(context_, report);
}

absl::Status TrainerLoop::finish() {
  requests_.resume_due_later();
  RETURN_IF_ERROR(agreement_.meet({"finish"}, share(nullptr)));
  update_elapsed();
  RETURN_IF_ERROR(server_.serve_agreed(/*ending=*/true).status());
  return consistency_.suspend([&]() -> absl::Status {
    // If a resumed run will continue the report, that run writes the complete report.
    const bool continues = stop_.by_rank && parts_.saver != nullptr && options_.save_at_end;
    if (options_.report.at_end && reporter_.steps() > 0 && !continues) RETURN_IF_ERROR(report());
    RETURN_IF_ERROR(server_.serve_common().status());
    if (!stop_.by_rank) {
      RETURN_IF_ERROR(server_.serve_at_end());
      RETURN_IF_ERROR(server_.serve_common().status());
    }
    return checkpoints_.save_at_end();
  });
}

}  // namespace millrace
