#include "framework/trainer.h"

#include <torch/nn/module.h>

#include <optional>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/failure_kind.h"
#include "base/log.h"
#include "base/signals/stop_signals.h"
#include "base/status_macros.h"
#include "base/text.h"
#include "distributed/one_rank_collectives.h"
#include "embedding/embedding_collection.h"
#include "framework/guarded.h"
#include "framework/model.h"
#include "framework/model_parts.h"
#include "framework/ranks/rank_part.h"
#include "framework/report/metric_set.h"
#include "framework/trainer_internal.h"

namespace millrace {

absl::StatusOr<std::unique_ptr<Trainer>> Trainer::create(TrainerOptions options,
                                                         TrainerParts parts) {
  if (parts.model == nullptr) return absl::InvalidArgumentError("the trainer has no model");
  if (options.micro_batches < 1) {
    return absl::InvalidArgumentError(
        absl::StrCat("micro_batches is ", options.micro_batches, "; must be at least 1"));
  }
  if (options.max_steps < 0 || options.max_epochs < 0 || options.max_windows < 0 ||
      options.max_steps_per_epoch < 0 || options.max_steps_per_window < 0 ||
      options.max_evaluation_steps < 0 || options.max_elapsed < absl::ZeroDuration()) {
    return absl::InvalidArgumentError("a limit is negative; 0 means none");
  }
  if (options.data_timeout <= absl::ZeroDuration() ||
      options.poll_interval <= absl::ZeroDuration()) {
    return absl::InvalidArgumentError("data_timeout and poll_interval must be above 0");
  }
  for (size_t i = 0; i < parts.evaluation_sets.size(); ++i) {
    for (size_t j = 0; j < i; ++j) {
      if (parts.evaluation_sets[i].name == parts.evaluation_sets[j].name) {
        return absl::InvalidArgumentError(
            absl::StrCat("two evaluation sets are named \"", parts.evaluation_sets[i].name, "\""));
      }
    }
  }
  if (parts.train_step == nullptr) parts.train_step = create_standard_train_step();
  if (parts.collectives == nullptr) parts.collectives = std::make_unique<OneRankCollectives>();
  auto trainer = std::unique_ptr<Trainer>(new Trainer(std::move(options), std::move(parts)));
  RETURN_IF_ERROR(trainer->initialize());
  return trainer;
}

Trainer::Trainer(TrainerOptions options, TrainerParts parts)
    : options_(std::move(options)),
      parts_(std::move(parts)),
      clock_(parts_.clock != nullptr ? *parts_.clock : Clock::real()),
      training_(clock_),
      windows_(dynamic_cast<WindowedDataset*>(parts_.train_data.get())),
      hooks_(std::make_unique<HookList>(clock_)),
      context_(std::make_unique<Context>(*this)),
      feed_({.micro_batches = options_.micro_batches,
             .tasks = static_cast<int64_t>(options_.tasks.size()),
             .data_timeout = options_.data_timeout,
             .stop_waiting = [] { return noted_stop_signal() != 0; }},
            parts_.train_data.get(), position_, *parts_.collectives, clock_) {}

Trainer::~Trainer() { leave_job(); }

// Collectives that are under way work on buffers of the other parts, so these go later.
void Trainer::leave_job() { parts_.collectives.reset(); }

absl::Status Trainer::initialize() {
  collections_ = collections_of(*parts_.model);
  parameters_ = parameters_of(*parts_.model);
  Collectives& collectives = *parts_.collectives;
  for (const EmbeddingCollection* collection : collections_) {
    if (collections_.empty() || collectives.world_size() == 1) break;
    return absl::InvalidArgumentError(
        absl::StrCat("the model has tables (\"", collection->tables()[0]->name(),
                     "\" first), which ", collectives.world_size(),
                     " ranks cannot share yet; use one rank, or a model without tables"));
  }
  std::set<std::string> names;
  for (const EmbeddingCollection* collection : collections_) {
    for (const auto& table : collection->tables()) {
      if (names.insert(table->name()).second) continue;
      return absl::InvalidArgumentError(
          absl::StrCat("two tables of the model are named \"", table->name(), "\""));
    }
  }
  ASSIGN_OR_RETURN(MetricSet metrics,
                   MetricSet::create(options_.metrics, options_.tasks, LossScope::kWholeStep));
  reporter_ = std::make_unique<Reporter>(std::move(metrics), parts_.dense_optimizers,
                                         parts_.sparse_optimizer.get(), collections_, training_);
  agreement_ = std::make_unique<Agreement>(collectives, context_->requests(),
                                           names_of(parts_.evaluation_sets));
  commit_ = std::make_unique<CommitExchange>(*agreement_, parameters_);
  hooks_->set_event_log(parts_.event_log.get());
  if (!parts_.paired_sets.empty() && windows_ == nullptr) {
    return absl::InvalidArgumentError("paired evaluation sets, but no windows to train on");
  }
  for (PairedSet& set : parts_.paired_sets) {
    paired_.push_back(std::make_unique<PairedEvaluation>(set.name, std::move(set.windows)));
    RETURN_IF_ERROR(add_state(absl::StrCat("paired evaluation ", set.name), *paired_.back(),
                              StatePlacement::kOnce));
  }
  if (parts_.saver != nullptr) RETURN_IF_ERROR(parts_.saver->check(state_parts()));
  if (parts_.model_bank == nullptr || !parts_.model_bank->dynamic()) return absl::OkStatus();
  return add_state(kModelBank, *parts_.model_bank, StatePlacement::kOnce);
}

absl::Status Trainer::add_hook(std::unique_ptr<Hook> hook, OnError on_error) {
  return hooks_->add(std::move(hook), on_error);
}

std::vector<std::string> Trainer::hook_names() const { return hooks_->names(); }

template <typename Body>
absl::Status Trainer::run(Phase phase, const Body& body) {
  summary_ = Summary();
  stopped_ = false;
  running_ = true;
  feed_.begin_run();
  const absl::Duration elapsed_before = position_.progress.elapsed;
  const int64_t examples_before = position_.progress.examples;
  context_->begin_run(phase);
  if (phase == Phase::kTrain) {
    position_.finished = false;
    save_failed_ = false;
    evaluation_failed_ = false;
    saved_step_ = durable_step_ = -1;
    interrupted_save_ = false;
    at_boundary_ = true;
    training_.start(position_.progress.elapsed);
    context_->requests().ask_again(std::exchange(restored_requests_, {}), Scope::kCommon);
    context_->requests().ask_again(std::exchange(due_now_, {}), Scope::kThisRank);
    if (!position_.within_pass()) ask_for_later();
  }
  agreement_->begin_run();
  record(LoopEvent::kStarted, phase == Phase::kTrain ? "train" : "evaluate", "");
  context_->set_starting(true);
  absl::Status outcome = hooks_->start(*context_);
  context_->set_starting(false);
  if (outcome.ok()) outcome = guarded("the run", body);
  // A rank that failed anywhere above is heard of here, if it was not before.
  outcome = agreement_->settle({"the end of the run"}, outcome);
  if (!outcome.ok() && phase == Phase::kTrain) {
    save_after_failure();
    outcome = explain_failed_evaluation(outcome);
  }
  parts_.collectives->set_phase(RankPhase::kEnd, position_.steps_done());
  context_->set_ending(true);
  const absl::Status ended = hooks_->end(*context_, outcome);
  context_->set_ending(false);
  training_.stop();
  outcome.Update(agreement_->settle({"leaving"}, ended));
  summary_.examples_this_run = position_.progress.examples - examples_before;
  summary_.elapsed_this_run = position_.progress.elapsed - elapsed_before;
  fill_summary(outcome);
  running_ = false;
  return outcome;
}

absl::StatusOr<Summary> Trainer::train() {
  if (parts_.train_data == nullptr) {
    return absl::FailedPreconditionError("train() was called, but the trainer has no train_data");
  }
  RETURN_IF_ERROR(run(Phase::kTrain, [this] { return train_epochs(); }));
  return summary_;
}

absl::StatusOr<Summary> Trainer::train_and_evaluate() {
  if (parts_.train_data == nullptr) {
    return absl::FailedPreconditionError(
        "train_and_evaluate() was called, but the trainer has no train_data");
  }
  RETURN_IF_ERROR(run(Phase::kTrain, [this] {
    context_->requests().set_caller("");
    context_->requests().evaluate_at_end();
    return train_epochs();
  }));
  return summary_;
}

absl::Status Trainer::report_if_due() {
  if (!context_->due(options_.report) || reporter_->steps() == 0) return absl::OkStatus();
  return report();
}

absl::Status Trainer::report() {
  RETURN_IF_ERROR(guarded("the report", [this] { return reporter_->fold(); }));
  RETURN_IF_ERROR(agreement_->meet({"report", position_.steps_done()}));
  ASSIGN_OR_RETURN(const Report report, reporter_->take(position_.progress, *parts_.collectives));
  summary_.train = report.metrics;
  return hooks_->after_report(*context_, report);
}

// Returns: none if a rank asked to stop meanwhile; the run is stopped then.
absl::StatusOr<std::optional<EvaluationResult>> Trainer::evaluate_inside(
    Dataset& data, EvaluationOptions options) {
  if (options.tasks.empty()) options.tasks = options_.tasks;
  if (options.metrics.empty()) options.metrics = options_.metrics;
  if (options.max_steps == 0) options.max_steps = options_.max_evaluation_steps;
  const Phase outer = context_->phase();
  Ranks ranks(*this);
  // Invariant: an evaluation changes nothing that a checkpoint holds.
  agreement_->set_state_is_whole(outer == Phase::kTrain && !save_failed_);
  context_->set_phase(Phase::kEvaluate);
  absl::StatusOr<std::optional<EvaluationResult>> result = std::nullopt;
  {
    const TrainingClock::Pause no_training(training_);
    const absl::Status outcome = guarded("the evaluation", [&] {
      result = run_evaluation(*parts_.model, data, options, position_.progress, *context_, *hooks_,
                              ranks, context_->evaluation_values(), clock_);
      return result.status();
    });
    if (!outcome.ok()) result = outcome;
  }
  context_->set_phase(outer);
  parts_.collectives->set_phase(RankPhase::kBetweenSteps, position_.steps_done());
  if (!result.ok() && outer == Phase::kTrain) return mark_failed_evaluation(result.status());
  RETURN_IF_ERROR(result.status());
  agreement_->set_state_is_whole(false);
  if (result->has_value()) {
    summary_.eval[options.name] = (*result)->metrics;
    summary_.eval_step[options.name] = position_.progress.step;
  }
  // After a stop nothing more is evaluated, nor is the state one to save before what is served
  // around this is put aside.
  RequestSet asked, evaluations;
  for (const Request& request : ranks.asked().asked) {
    interrupted_save_ |= request.kind == Request::kCheckpoint;
    if (request.kind == Request::kEvaluate) evaluations.add(request);
    if (request.kind == Request::kReload || request.kind == Request::kStop) asked.add(request);
  }
  put_aside(evaluations, serving_scope_ == Scope::kCommon ? due_now_ : due_later_);
  RETURN_IF_ERROR(serve(asked, Scope::kThisRank));
  return result;
}

// Of an evaluation within training. Returns: the failure, marked as that of an evaluation on the
// ranks that it comes from.
absl::Status Trainer::mark_failed_evaluation(absl::Status failure) {
  const bool of_another_rank = absl::IsAborted(failure) && agreement_->over();
  evaluation_failed_ = !of_another_rank || agreement_->all_whole();
  // Whatever its cause, and whatever kind that has: the message tells.
  return of_another_rank ? failure : replace_kind(std::move(failure), FailureKind::kEvaluation);
}

absl::StatusOr<std::optional<Batch>> Trainer::Ranks::next(Dataset& data) {
  return trainer_.feed_.read(data, RankPhase::kEvaluation);
}

void Trainer::Ranks::start(const Batch* next) {
  RankShare share;
  share.has_data = next != nullptr || trainer_.feed_.interrupted();
  share.examples = next != nullptr ? next->size : 0;
  share.elapsed = trainer_.position_.progress.elapsed;
  trainer_.agreement_->start({"evaluation", batches_++}, share);
}

absl::StatusOr<bool> Trainer::Ranks::finish() {
  RETURN_IF_ERROR(trainer_.agreement_->verify());
  const bool more = trainer_.agreement_->result().ranks_with_data > 0;
  // Without a stop the rest is carried to the next exchange of training.
  if (trainer_.agreement_->result().requests.stop == 0) {
    RETURN_IF_ERROR(trainer_.check_interruption());
    return more;
  }
  ASSIGN_OR_RETURN(asked_, trainer_.agreement_->requests());
  return false;
}

absl::Status Trainer::Ranks::merge(MetricSet& metrics, ReportedValues& values) {
  RETURN_IF_ERROR(trainer_.agreement_->meet({"end of evaluation", batches_}));
  return merge_ranks(*trainer_.parts_.collectives, {&metrics, &values});
}

absl::StatusOr<EvaluationSet*> Trainer::find_set(absl::string_view name) {
  for (EvaluationSet& set : parts_.evaluation_sets) {
    if (set.name == name) return &set;
  }
  return absl::NotFoundError(absl::StrCat("no evaluation set is named \"", name, "\"",
                                          did_you_mean(name, names_of(parts_.evaluation_sets))));
}

absl::StatusOr<EvaluationResult> Trainer::evaluate(absl::string_view set_name) {
  ASSIGN_OR_RETURN(EvaluationSet * set, find_set(set_name));
  return evaluate(*set->data, named(set->name));
}

absl::StatusOr<EvaluationResult> Trainer::evaluate(Dataset& data, EvaluationOptions options) {
  std::optional<EvaluationResult> result;
  RETURN_IF_ERROR(run(Phase::kEvaluate, [&]() -> absl::Status {
    RETURN_IF_ERROR(hooks_->before_epoch(*context_));
    ASSIGN_OR_RETURN(result, evaluate_inside(data, options));
    if (!result.has_value()) return absl::OkStatus();
    RETURN_IF_ERROR(hooks_->out_of_data(*context_, DataEnd::kEpoch));
    RETURN_IF_ERROR(hooks_->after_epoch(*context_));
    return hooks_->after_evaluate(*context_, *result);
  }));
  if (!result.has_value()) {
    return absl::CancelledError(absl::StrCat("the evaluation was stopped: ", summary_.stop_reason));
  }
  return *std::move(result);
}

void Trainer::record(LoopEvent::Kind kind, absl::string_view what, absl::string_view detail) {
  if (parts_.event_log == nullptr) return;
  LoopEvent event;
  event.kind = kind;
  event.what = std::string(what);
  event.rank = kind == LoopEvent::kFailed && agreement_->failed_rank() >= 0
                   ? agreement_->failed_rank()
                   : context_->rank();
  event.detail = std::string(detail);
  event.progress = position_.progress;
  event.world_size = context_->world_size();
  parts_.event_log->record(event);
}

void Trainer::record(LoopEvent::Kind kind, const Request& request, Scope scope) {
  if (parts_.event_log == nullptr) return;
  LoopEvent event;
  event.kind = kind;
  event.what = std::string(request_name(request.kind));
  event.hook = request.hook;
  event.rank = scope == Scope::kThisRank ? request.rank : context_->rank();
  event.scope = scope;
  event.detail = request.detail;
  event.progress = position_.progress;
  parts_.event_log->record(event);
}

void Trainer::fill_summary(const absl::Status& outcome) {
  summary_.outcome = !outcome.ok() ? Outcome::kFailed
                     : stopped_    ? Outcome::kStopped
                                   : Outcome::kCompleted;
  summary_.error = std::string(outcome.message());
  summary_.progress = position_.progress;
  summary_.world_size = context_->world_size();
  summary_.checkpoint = checkpoint_;
  summary_.hooks = hooks_->statistics();
  for (const EmbeddingCollection* collection : collections_) {
    for (const auto& table : collection->tables()) {
      summary_.rows[std::string(table->name())] = table->maintenance().statistics().rows;
    }
  }
  if (!outcome.ok()) {
    record(LoopEvent::kFailed, parts_.train_data == nullptr ? "evaluate" : "train",
           outcome.message());
  }
  record(LoopEvent::kEnded,
         !outcome.ok() ? "failed"
         : stopped_    ? "stopped"
                       : "completed",
         !outcome.ok() ? outcome.message() : absl::string_view(summary_.stop_reason));
}

}  // namespace millrace
