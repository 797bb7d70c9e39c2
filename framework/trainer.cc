#include "framework/trainer.h"

#include <torch/nn/module.h>

#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/log.h"
#include "base/status_macros.h"
#include "base/text.h"
#include "distributed/one_rank_collectives.h"
#include "embedding/embedding_collection.h"
#include "framework/guarded.h"
#include "framework/hook_list.h"
#include "framework/metric_set.h"
#include "framework/model.h"
#include "framework/model_parts.h"
#include "framework/reporter.h"

namespace millrace {
namespace {

EvaluationOptions named(const std::string& set) {
  EvaluationOptions options;
  options.name = set;
  return options;
}

}  // namespace

// What hooks see of the trainer.
class Trainer::Context : public HookContext {
 public:
  explicit Context(Trainer& trainer) : trainer_(trainer) {}

  Phase phase() const override { return phase_; }
  const Progress& progress() const override { return trainer_.progress_; }
  bool windowed() const override { return false; }
  int rank() const override { return 0; }
  int world_size() const override { return 1; }
  Requests& requests() override { return requests_; }

  bool due(const Cadence& cadence) const override {
    return (starting_ && cadence.at_start) || (ending_ && cadence.at_end) ||
           cadence.crossed(served_, trainer_.progress_);
  }

  void report(absl::string_view name, double value, Reduction reduction) override {
    (phase_ == Phase::kTrain ? trainer_.reporter_->values() : evaluation_values_)
        .add(name, value, reduction);
  }

  // What was asked or reported outside a run is forgotten.
  void begin_run(Phase phase) {
    requests_ = Requests();
    evaluation_values_ = ReportedValues();
    phase_ = phase;
    mark_served();
  }
  void set_phase(Phase phase) { phase_ = phase; }
  void set_starting(bool starting) { starting_ = starting; }
  void set_ending(bool ending) { ending_ = ending; }
  // Cadences count from here.
  void mark_served() { served_ = trainer_.progress_; }
  ReportedValues& evaluation_values() { return evaluation_values_; }

 private:
  Trainer& trainer_;
  Requests requests_;
  ReportedValues evaluation_values_;
  Progress served_;
  Phase phase_ = Phase::kTrain;
  bool starting_ = false;
  bool ending_ = false;
};

// Fires the events inside a step.
class Trainer::Observer : public StepObserver {
 public:
  Observer(HookList& hooks, HookContext& context) : hooks_(hooks), context_(context) {}
  absl::Status after_data(const Batch& batch, int64_t micro_batch) override {
    return hooks_.after_data(context_, batch, micro_batch);
  }
  absl::Status after_backward(const Gradients& gradients) override {
    return hooks_.after_backward(context_, gradients);
  }

 private:
  HookList& hooks_;
  HookContext& context_;
};

// The micro-batches of one step.
struct Trainer::StepData {
  std::vector<Batch> micro_batches;
  int64_t examples = 0;
  absl::Duration wait = absl::ZeroDuration();
};

absl::StatusOr<std::unique_ptr<Trainer>> Trainer::create(TrainerOptions options,
                                                         TrainerParts parts) {
  if (parts.model == nullptr) return absl::InvalidArgumentError("the trainer has no model");
  if (options.micro_batches < 1) {
    return absl::InvalidArgumentError(
        absl::StrCat("micro_batches is ", options.micro_batches, "; must be at least 1"));
  }
  if (options.max_steps < 0 || options.max_epochs < 0 || options.max_steps_per_epoch < 0 ||
      options.max_evaluation_steps < 0 || options.max_elapsed < absl::ZeroDuration()) {
    return absl::InvalidArgumentError("a limit is negative; 0 means none");
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
  auto trainer = std::unique_ptr<Trainer>(new Trainer(std::move(options), std::move(parts)));
  RETURN_IF_ERROR(trainer->initialize());
  return trainer;
}

Trainer::Trainer(TrainerOptions options, TrainerParts parts)
    : options_(std::move(options)),
      parts_(std::move(parts)),
      clock_(parts_.clock != nullptr ? *parts_.clock : Clock::real()),
      hooks_(std::make_unique<HookList>()),
      context_(std::make_unique<Context>(*this)) {}

Trainer::~Trainer() = default;

absl::Status Trainer::initialize() {
  collections_ = collections_of(*parts_.model);
  parameters_ = parameters_of(*parts_.model);
  ASSIGN_OR_RETURN(MetricSet metrics, MetricSet::create(options_.metrics, options_.tasks,
                                                        LossScope::kWholeStep));
  reporter_ = std::make_unique<Reporter>(std::move(metrics), parts_.dense_optimizers,
                                         parts_.sparse_optimizer.get(), collections_, clock_);
  return absl::OkStatus();
}

absl::Status Trainer::add_hook(std::unique_ptr<Hook> hook) { return hooks_->add(std::move(hook)); }

std::vector<std::string> Trainer::hook_names() const { return hooks_->names(); }

template <typename Body>
absl::Status Trainer::run(Phase phase, const Body& body) {
  summary_ = Summary();
  stopped_ = false;
  run_started_ = clock_.elapsed();
  elapsed_before_ = progress_.elapsed;
  const int64_t examples_before = progress_.examples;
  context_->begin_run(phase);
  if (phase == Phase::kTrain) reporter_->resume_clock();
  context_->set_starting(true);
  absl::Status outcome = hooks_->start(*context_);
  context_->set_starting(false);
  if (outcome.ok()) outcome = guarded("the run", body);
  context_->set_ending(true);
  outcome.Update(hooks_->end(*context_, outcome));
  context_->set_ending(false);
  reporter_->pause_clock();
  summary_.examples_this_run = progress_.examples - examples_before;
  summary_.elapsed_this_run = progress_.elapsed - elapsed_before_;
  fill_summary(outcome);
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
    context_->requests().evaluate_at_end();
    return train_epochs();
  }));
  return summary_;
}

absl::Status Trainer::train_epochs() {
  parts_.model->train();
  RETURN_IF_ERROR(serve_common());
  while (!training_is_over()) RETURN_IF_ERROR(train_epoch());
  return finish();
}

absl::Status Trainer::train_epoch() {
  const std::string what = absl::StrCat("epoch ", progress_.epoch);
  RETURN_IF_ERROR(open_epoch(), what);
  RETURN_IF_ERROR(hooks_->before_epoch(*context_));
  // The first exchange of an epoch is synchronous: what single ranks asked for is known here.
  RETURN_IF_ERROR(serve(context_->requests().take_this_rank(), /*of_this_rank=*/true));
  if (stopped_) return absl::OkStatus();
  if (!open_cursor_.has_value()) epoch_first_step_ = progress_.step + progress_.skipped_steps;
  ASSIGN_OR_RETURN(std::unique_ptr<StepData> next, fetch());
  if (next == nullptr && !open_cursor_.has_value()) {
    return absl::InvalidArgumentError(
        absl::StrCat(what, ": the training data has no examples; check its paths and split"));
  }
  while (next != nullptr) {
    const std::unique_ptr<StepData> current = std::move(next);
    ASSIGN_OR_RETURN(next, fetch());
    RETURN_IF_ERROR(run_step(*current));
    open_cursor_ = current->micro_batches.back().cursor;
    if (stopped_) return absl::OkStatus();
    if (next == nullptr) break;
    if (limit_reached()) return absl::OkStatus();
    const int64_t steps = progress_.step + progress_.skipped_steps - epoch_first_step_;
    if (options_.max_steps_per_epoch > 0 && steps >= options_.max_steps_per_epoch) {
      return complete_epoch(/*out_of_data=*/false);
    }
  }
  return complete_epoch(/*out_of_data=*/true);
}

absl::Status Trainer::open_epoch() {
  if (!open_cursor_.has_value()) return parts_.train_data->start_epoch(progress_.epoch);
  return parts_.train_data->seek({&*open_cursor_, 1});
}

absl::Status Trainer::complete_epoch(bool out_of_data) {
  if (out_of_data) RETURN_IF_ERROR(hooks_->out_of_data(*context_, DataEnd::kEpoch));
  open_cursor_.reset();
  ++progress_.epoch;
  RETURN_IF_ERROR(hooks_->after_epoch(*context_));
  RETURN_IF_ERROR(report_if_due());
  return serve_common();
}

absl::StatusOr<std::unique_ptr<Trainer::StepData>> Trainer::fetch() {
  auto data = std::make_unique<StepData>();
  const absl::Duration start = clock_.elapsed();
  for (int64_t i = 0; i < options_.micro_batches; ++i) {
    ASSIGN_OR_RETURN(std::optional<Batch> batch, parts_.train_data->next(),
                     absl::StrCat("reading the data of a step after step ", progress_.step));
    if (!batch.has_value()) break;
    data->examples += batch->size;
    data->micro_batches.push_back(*std::move(batch));
  }
  data->wait = clock_.elapsed() - start;
  if (data->micro_batches.empty()) return nullptr;
  return data;
}

absl::Status Trainer::run_step(const StepData& data) {
  // Here the step exchange begins: it carries what this rank alone has asked for until now.
  const RequestSet of_this_rank = context_->requests().take_this_rank();
  ++summary_.steps_begun;
  parts_.model->begin_step(progress_, Phase::kTrain);
  RETURN_IF_ERROR(hooks_->before_step(*context_));
  const TrainStepParts parts{*parts_.model, parameters_, parts_.dense_optimizers,
                             parts_.sparse_optimizer.get()};
  const StepInput input{data.micro_batches, data.examples, progress_, options_.seed, 0};
  Observer observer(*hooks_, *context_);
  ASSIGN_OR_RETURN(StepResult result, parts_.train_step->run(parts, input, observer),
                   absl::StrCat("step ", progress_.step + 1));
  result.timings.data_wait = data.wait;
  advance(result);
  if (result.applied) RETURN_IF_ERROR(reporter_->add(result));
  RETURN_IF_ERROR(hooks_->after_step(*context_, result));
  RETURN_IF_ERROR(report_if_due());
  RETURN_IF_ERROR(serve_common());
  // Here the step exchange is read.
  return serve(of_this_rank, /*of_this_rank=*/true);
}

void Trainer::advance(const StepResult& result) {
  update_elapsed();
  if (result.applied) {
    ++progress_.step;
    progress_.examples += result.examples;
  } else {
    ++progress_.skipped_steps;
    progress_.skipped_examples += result.examples;
  }
}

void Trainer::update_elapsed() {
  progress_.elapsed = elapsed_before_ + (clock_.elapsed() - run_started_);
}

bool Trainer::limit_reached() const {
  return (options_.max_steps > 0 && progress_.step >= options_.max_steps) ||
         (options_.max_epochs > 0 && progress_.epoch >= options_.max_epochs) ||
         (options_.max_elapsed > absl::ZeroDuration() && progress_.elapsed >= options_.max_elapsed);
}

bool Trainer::training_is_over() const { return stopped_ || limit_reached(); }

absl::Status Trainer::report_if_due() {
  if (!context_->due(options_.report) || reporter_->steps() == 0) return absl::OkStatus();
  return report();
}

absl::Status Trainer::report() {
  OneRankCollectives alone;
  ASSIGN_OR_RETURN(const Report report, reporter_->take(progress_, alone));
  summary_.train = report.metrics;
  return hooks_->after_report(*context_, report);
}

absl::Status Trainer::serve_common() {
  RETURN_IF_ERROR(serve(context_->requests().take_common(), /*of_this_rank=*/false));
  // What results of the evaluations made hooks ask for, such as to stop, does not wait for another step.
  RETURN_IF_ERROR(serve(context_->requests().take_common(), /*of_this_rank=*/false));
  context_->mark_served();
  return absl::OkStatus();
}

absl::Status Trainer::serve(const RequestSet& requests, bool of_this_rank) {
  if (requests.empty()) return absl::OkStatus();
  context_->mark_served();
  RETURN_IF_ERROR(evaluate_sets(requests, /*only_new=*/false));
  if (requests.checkpoint || requests.reload) {
    return absl::UnimplementedError(
        absl::StrCat("a hook asked for a ", requests.checkpoint ? "checkpoint" : "reload",
                     ", but this trainer has no Saver"));
  }
  if (requests.stop && !stopped_) {
    stopped_ = true;
    MILLRACE_LOG(INFO) << "stopping: " << requests.stop_reason << " (asked by hook "
                       << requests.stop_hook << ")";
    summary_.stop_reason = requests.stop_reason;
    summary_.stopped_by_rank = of_this_rank;
  }
  return absl::OkStatus();
}

absl::Status Trainer::finish() {
  update_elapsed();
  if (options_.report.at_end && reporter_->steps() > 0) RETURN_IF_ERROR(report());
  RETURN_IF_ERROR(serve_common());
  const RequestSet at_end = context_->requests().take_at_end();
  if (summary_.stopped_by_rank) return absl::OkStatus();
  return evaluate_sets(at_end, /*only_new=*/true);
}

absl::Status Trainer::evaluate_sets(const RequestSet& requests, bool only_new) {
  std::vector<EvaluationSet*> sets;
  for (const std::string& name : requests.evaluate) {
    ASSIGN_OR_RETURN(EvaluationSet* set, find_set(name));
    if (!requests.evaluate_all) sets.push_back(set);
  }
  if (requests.evaluate_all) {
    for (EvaluationSet& set : parts_.evaluation_sets) sets.push_back(&set);
  }
  for (EvaluationSet* set : sets) {
    const auto last = last_evaluated_step_.find(set->name);
    if (only_new && last != last_evaluated_step_.end() && last->second == progress_.step) continue;
    ASSIGN_OR_RETURN(const EvaluationResult result,
                     evaluate_inside(*set->data, named(set->name)));
    last_evaluated_step_[set->name] = progress_.step;
    RETURN_IF_ERROR(hooks_->after_evaluate(*context_, result));
  }
  return absl::OkStatus();
}

absl::StatusOr<EvaluationResult> Trainer::evaluate_inside(Dataset& data,
                                                          EvaluationOptions options) {
  if (options.tasks.empty()) options.tasks = options_.tasks;
  if (options.metrics.empty()) options.metrics = options_.metrics;
  if (options.max_steps == 0) options.max_steps = options_.max_evaluation_steps;
  const Phase outer = context_->phase();
  context_->set_phase(Phase::kEvaluate);
  reporter_->pause_clock();
  absl::StatusOr<EvaluationResult> result =
      run_evaluation(*parts_.model, data, options, progress_, *context_, *hooks_,
                     context_->evaluation_values(), clock_);
  context_->set_phase(outer);
  if (outer == Phase::kTrain) reporter_->resume_clock();
  if (result.ok()) {
    summary_.eval[options.name] = result->metrics;
    run_started_ += result->elapsed;  // no time of training
  }
  return result;
}

absl::StatusOr<EvaluationSet*> Trainer::find_set(absl::string_view name) {
  std::vector<std::string> names;
  for (EvaluationSet& set : parts_.evaluation_sets) {
    if (set.name == name) return &set;
    names.push_back(set.name);
  }
  return absl::NotFoundError(
      absl::StrCat("no evaluation set is named \"", name, "\"", did_you_mean(name, names)));
}

absl::StatusOr<EvaluationResult> Trainer::evaluate(absl::string_view set_name) {
  ASSIGN_OR_RETURN(EvaluationSet* set, find_set(set_name));
  return evaluate(*set->data, named(set->name));
}

absl::StatusOr<EvaluationResult> Trainer::evaluate(Dataset& data, EvaluationOptions options) {
  EvaluationResult result;
  RETURN_IF_ERROR(run(Phase::kEvaluate, [&]() -> absl::Status {
    RETURN_IF_ERROR(hooks_->before_epoch(*context_));
    ASSIGN_OR_RETURN(result, evaluate_inside(data, options));
    RETURN_IF_ERROR(hooks_->out_of_data(*context_, DataEnd::kEpoch));
    RETURN_IF_ERROR(hooks_->after_epoch(*context_));
    return hooks_->after_evaluate(*context_, result);
  }));
  return result;
}

void Trainer::fill_summary(const absl::Status& outcome) {
  summary_.outcome = !outcome.ok() ? Outcome::kFailed : stopped_ ? Outcome::kStopped : Outcome::kCompleted;
  summary_.error = std::string(outcome.message());
  summary_.progress = progress_;
  summary_.hooks = hooks_->statistics();
  for (const EmbeddingCollection* collection : collections_) {
    for (const auto& table : collection->tables()) {
      summary_.rows[std::string(table->name())] = table->statistics().rows;
    }
  }
}

}  // namespace millrace
