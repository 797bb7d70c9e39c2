#include "framework/loop/evaluator.h"

#include <ATen/ATen.h>
#include <ATen/CPUGeneratorImpl.h>
#include <c10/core/GradMode.h>

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/catch_exceptions.h"
#include "base/failure_kind.h"
#include "base/status_macros.h"
#include "framework/device/on_device.h"
#include "framework/model/model.h"
#include "framework/model/model_output.h"
#include "framework/precision/autocast_scope.h"
#include "framework/ranks/padding.h"
#include "framework/report/example_columns.h"
#include "framework/report/pending_steps.h"
#include "framework/report/table_figures.h"

namespace millrace {
namespace {

// Sets evaluation mode; restores the training mode of every module and the state of the generators
// on destruction.
class Undisturbed {
 public:
  explicit Undisturbed(Model& model) {
    keep(at::detail::getDefaultCPUGenerator());
    if (!model.device().is_cpu()) keep(at::globalContext().defaultGenerator(model.device()));
    for (const std::shared_ptr<torch::nn::Module>& module : model.modules()) {
      training_.emplace_back(module, module->is_training());
    }
    model.eval();
  }
  ~Undisturbed() {
    // A module precedes its submodules, which its train() also sets.
    for (const auto& [module, training] : training_) module->train(training);
    for (auto& [generator, state] : generators_) generator.set_state(state);
  }
  Undisturbed(const Undisturbed&) = delete;
  Undisturbed& operator=(const Undisturbed&) = delete;

 private:
  void keep(const at::Generator& generator) {
    generators_.emplace_back(generator, generator.get_state());
  }

  // Shared pointers, because LibTorch returns them.
  std::vector<std::pair<std::shared_ptr<torch::nn::Module>, bool>> training_;
  std::vector<std::pair<at::Generator, at::Tensor>> generators_;  // with their states
};

// Returns the loss divided by the model's targets, or by the examples. 0 without targets.
at::Tensor mean_loss(const ModelOutput& output, int64_t examples) {
  if (!output.targets.defined()) return output.loss / static_cast<double>(examples);
  const at::Tensor targets = on_device(output.targets, output.loss.device());
  const at::Tensor mean = output.loss / targets;
  return at::where(targets > 0, mean, at::zeros_like(mean));
}

absl::StatusOr<StepResult> evaluate_batch(Model& model, const Batch& batch,
                                          PrecisionConfig::Compute compute) {
  ASSIGN_OR_RETURN(const std::vector<int64_t> targets, count_targets(model, batch));
  absl::StatusOr<ModelOutput> output = absl::InternalError("the model was not called");
  RETURN_IF_ERROR(catch_part_exceptions("the model's evaluation", [&] {
    const AutocastScope autocast(compute, model.device().type());
    output = model.evaluate(on_device(batch, model.device()));
    return as_part_failure(output.status());
  }));
  RETURN_IF_ERROR(check_model_output(*output, batch, targets.size()));
  StepResult result;
  result.applied = true;
  result.examples = batch.size;
  // Each task has a mean over its own targets, because examples may lack the label of a task.
  if (!targets.empty()) {
    result.task_losses = output->loss * on_device(target_factors(targets), output->loss.device());
    result.task_targets = targets;
    result.loss = result.task_losses.sum();
  } else {
    result.loss = mean_loss(*output, batch.size);
    result.loss_targets = output->targets;
  }
  result.predictions = output->predictions;
  result.labels = batch.labels;
  result.weights = batch.weights;
  result.values = step_values(std::move(output->metrics));
  return result;
}

// One evaluation with its results.
class Evaluation {
 public:
  Evaluation(Model& model, Dataset& data, const EvaluationOptions& options,
             const Progress& progress, HookContext& context, HookList& hooks,
             EvaluationRanks& ranks, ReportedValues& values, MetricSet metrics, const Clock& clock)
      : model_(model),
        data_(data),
        options_(options),
        progress_(progress),
        context_(context),
        hooks_(hooks),
        ranks_(ranks),
        values_(values),
        metrics_(std::move(metrics)),
        clock_(clock),
        start_(clock.elapsed()) {}

  // Returns none if a rank asked to stop.
  absl::StatusOr<std::optional<EvaluationResult>> run() {
    const std::vector<EmbeddingCollection*> collections = collections_of(model_);
    const std::map<std::string, TableStatistics> before = table_statistics(collections);
    RETURN_IF_ERROR(run_batches());
    if (ranks_.stopped()) return std::nullopt;
    TableFigures tables;
    for (const auto& [name, now] : table_statistics(collections)) {
      tables.add(name, now, before.at(name));
    }
    RETURN_IF_ERROR(ranks_.merge({&metrics_, &values_, &tables}));
    result_.examples = metrics_.examples();
    if (result_.examples == 0) {
      const bool explained = !options_.no_examples.empty();
      return absl::InvalidArgumentError(explained ? options_.no_examples
                                                  : "the data set has no examples");
    }
    result_.set = options_.name;
    result_.progress = progress_;
    result_.metrics = metrics_.compute();
    result_.thresholds = metrics_.threshold_weights();
    result_.unknown_shares = tables.unknown_shares();
    values_.drain(&result_.values);
    return result_;
  }

 private:
  absl::Status run_batches() {
    const Undisturbed undisturbed(model_);
    const c10::AutoGradMode no_gradients(false);
    RETURN_IF_ERROR(catch_part_exceptions("the model's begin_evaluation", [&] {
      model_.begin_evaluation(options_.name);
      return absl::OkStatus();
    }));
    RETURN_IF_ERROR(data_.start_epoch(0));
    auto* const windows = dynamic_cast<WindowedDataset*>(&data_);
    RETURN_IF_ERROR(windows == nullptr ? run_pass() : run_windows(*windows));
    return pending_.fold(metrics_, values_);
  }

  absl::Status run_windows(WindowedDataset& windows) {
    const int64_t most = options_.limits.max_windows;
    for (int64_t done = 0; (most == 0 || done < most) && !has_all_steps(); ++done) {
      ASSIGN_OR_RETURN(const std::optional<Window> window,
                       ranks_.next_window(windows, time_is_up()));
      if (!window.has_value()) return absl::OkStatus();
      RETURN_IF_ERROR(hooks_.before_window(context_, *window));
      RETURN_IF_ERROR(run_pass());
      if (ranks_.stopped()) return absl::OkStatus();
      if (!has_all_steps() && !time_is_up()) {
        RETURN_IF_ERROR(hooks_.out_of_data(context_, DataEnd::kWindow));
      }
      RETURN_IF_ERROR(hooks_.after_window(context_, *window));
    }
    return absl::OkStatus();
  }

  bool has_all_steps() const {
    return options_.limits.max_steps > 0 && result_.batches >= options_.limits.max_steps;
  }

  bool time_is_up() const {
    const absl::Duration most = options_.limits.max_elapsed;
    return most > absl::ZeroDuration() && clock_.elapsed() - start_ >= most;
  }

  // Returns this rank's next batch; none at the end of its data or of its time.
  absl::StatusOr<std::optional<Batch>> next_batch() {
    if (time_is_up()) return std::nullopt;
    return ranks_.next(data_);
  }

  // Evaluates what the data has open.
  absl::Status run_pass() {
    ASSIGN_OR_RETURN(std::optional<Batch> next, next_batch());
    ranks_.start(next.has_value() ? &*next : nullptr);
    ASSIGN_OR_RETURN(bool go_on, ranks_.finish());
    while (go_on) {
      const Batch batch = next.has_value() ? *std::move(next) : padding();
      next.reset();
      ++result_.batches;
      if (batch.size > 0 && !has_all_steps()) {
        ASSIGN_OR_RETURN(next, next_batch());
      }
      // The exchange of the next batch runs during the evaluation of this batch, unless
      // agrees_first().
      ranks_.start(next.has_value() ? &*next : nullptr);
      const bool first = ranks_.agrees_first();
      if (first) {
        ASSIGN_OR_RETURN(go_on, ranks_.finish());
      }
      RETURN_IF_ERROR(run_batch(batch));
      if (!first) {
        ASSIGN_OR_RETURN(go_on, ranks_.finish());
      }
    }
    return absl::OkStatus();
  }

  absl::Status run_batch(const Batch& batch) {
    RETURN_IF_ERROR(ranks_.fetch(batch, begin_batch(batch)));
    StepResult step;
    if (batch.size > 0) {
      ASSIGN_OR_RETURN(step, evaluate_batch(model_, batch, options_.compute));
      like_ = batch;
    } else {
      step.applied = true;
      step.loss = at::zeros({});
      step.predictions = at::zeros_like(batch.labels);
      step.labels = batch.labels;
    }
    add_example_columns({&batch, 1}, options_.slices, step);
    RETURN_IF_ERROR(pending_.add(step, metrics_, values_));
    if (options_.consumer != nullptr && batch.size > 0) {
      RETURN_IF_ERROR(options_.consumer(batch, step));
    }
    return hooks_.after_step(context_, step);
  }

  // Does everything that precedes the evaluation of the batch.
  absl::Status begin_batch(const Batch& batch) {
    return catch_part_exceptions("the evaluation of a batch", [&] {
      model_.set_report_due(true);
      model_.begin_step(progress_, Phase::kEvaluate);
      RETURN_IF_ERROR(hooks_.before_step(context_));
      return hooks_.after_data(context_, batch, 0);
    });
  }

  Batch padding() const {
    return padding_batch(like_.has_value() ? &*like_ : nullptr,
                         static_cast<int64_t>(options_.tasks.size()), Cursor());
  }

  Model& model_;
  Dataset& data_;
  const EvaluationOptions& options_;
  const Progress& progress_;
  HookContext& context_;
  HookList& hooks_;
  EvaluationRanks& ranks_;
  ReportedValues& values_;
  MetricSet metrics_;
  const Clock& clock_;
  const absl::Duration start_;
  PendingSteps pending_;
  EvaluationResult result_;
  std::optional<Batch> like_;  // the last batch with examples
};

}  // namespace

absl::StatusOr<std::optional<EvaluationResult>> run_evaluation(
    Model& model, Dataset& data, const EvaluationOptions& options, const Progress& progress,
    HookContext& context, HookList& hooks, EvaluationRanks& ranks, ReportedValues& values,
    const Clock& clock) {
  const absl::Duration start = clock.elapsed();
  const std::string what = absl::StrCat(options.consumer != nullptr ? "predicting" : "evaluating",
                                        " \"", options.name, "\"");
  ASSIGN_OR_RETURN(MetricSet metrics,
                   MetricSet::create(options.metrics, options.tasks, LossScope::kThisRank,
                                     options.metric_configs, options.slices),
                   what);
  ASSIGN_OR_RETURN(std::optional<EvaluationResult> result,
                   Evaluation(model, data, options, progress, context, hooks, ranks, values,
                              std::move(metrics), clock)
                       .run(),
                   what);
  if (result.has_value()) result->elapsed = clock.elapsed() - start;
  return result;
}

}  // namespace millrace
