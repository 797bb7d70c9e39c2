#include "framework/evaluator.h"

#include <ATen/ATen.h>
#include <ATen/CPUGeneratorImpl.h>
#include <c10/core/GradMode.h>

#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "framework/guarded.h"
#include "framework/metric_set.h"
#include "framework/model.h"
#include "framework/model_output_check.h"
#include "framework/pending_steps.h"

namespace millrace {
namespace {

// Puts back the training mode of every module and the generator's state when it goes out of scope.
class Undisturbed {
 public:
  explicit Undisturbed(Model& model)
      : generator_(at::detail::getDefaultCPUGenerator()), state_(generator_.get_state()) {
    for (const std::shared_ptr<torch::nn::Module>& module : model.modules()) {
      training_.emplace_back(module, module->is_training());
    }
    model.eval();
  }
  ~Undisturbed() {
    // A module comes before those inside it, which train() reaches too.
    for (const auto& [module, training] : training_) module->train(training);
    generator_.set_state(state_);
  }
  Undisturbed(const Undisturbed&) = delete;
  Undisturbed& operator=(const Undisturbed&) = delete;

 private:
  // Shared as LibTorch gives them out.
  std::vector<std::pair<std::shared_ptr<torch::nn::Module>, bool>> training_;
  at::Generator generator_;
  const at::Tensor state_;
};

absl::StatusOr<StepResult> evaluate_batch(Model& model, const Batch& batch) {
  absl::StatusOr<ModelOutput> output = absl::InternalError("the model was not called");
  RETURN_IF_ERROR(guarded("the model's evaluation", [&] {
    output = model.evaluate(batch);
    return output.status();
  }));
  RETURN_IF_ERROR(check_model_output(*output, batch));
  StepResult result;
  result.applied = true;
  result.examples = batch.size;
  result.loss = output->loss / (output->targets.defined()
                                    ? output->targets
                                    : at::scalar_tensor(static_cast<double>(batch.size)));
  result.predictions = output->predictions;
  result.labels = batch.labels;
  result.weights = batch.weights;
  for (NamedValue& metric : output->metrics) {
    result.values.emplace_back(std::move(metric.name), std::move(metric.value));
  }
  return result;
}

absl::Status evaluate_batches(Model& model, Dataset& data, const EvaluationOptions& options,
                              const Progress& progress, HookContext& context, HookList& hooks,
                              ReportedValues& values, MetricSet& metrics,
                              EvaluationResult& result) {
  const Undisturbed undisturbed(model);
  const c10::AutoGradMode no_gradients(false);
  PendingSteps pending;
  RETURN_IF_ERROR(data.start_epoch(0));
  while (options.max_steps == 0 || result.batches < options.max_steps) {
    ASSIGN_OR_RETURN(const std::optional<Batch> batch, data.next());
    if (!batch.has_value()) break;
    model.begin_step(progress, Phase::kEvaluate);
    RETURN_IF_ERROR(hooks.before_step(context));
    RETURN_IF_ERROR(hooks.after_data(context, *batch, 0));
    ASSIGN_OR_RETURN(const StepResult step, evaluate_batch(model, *batch));
    RETURN_IF_ERROR(pending.add(step, metrics, values));
    result.examples += batch->size;
    ++result.batches;
    RETURN_IF_ERROR(hooks.after_step(context, step));
  }
  return pending.fold(metrics, values);
}

}  // namespace

absl::StatusOr<EvaluationResult> run_evaluation(Model& model, Dataset& data,
                                                const EvaluationOptions& options,
                                                const Progress& progress, HookContext& context,
                                                HookList& hooks, ReportedValues& values,
                                                Clock& clock) {
  const absl::Duration start = clock.elapsed();
  const std::string what = absl::StrCat("evaluating \"", options.name, "\"");
  ASSIGN_OR_RETURN(MetricSet metrics, MetricSet::create(options.metrics, options.tasks), what);
  EvaluationResult result;
  result.set = options.name;
  result.progress = progress;
  RETURN_IF_ERROR(
      evaluate_batches(model, data, options, progress, context, hooks, values, metrics, result),
      what);
  if (result.examples == 0) {
    return absl::InvalidArgumentError(absl::StrCat(what, ": the data set has no examples"));
  }
  result.metrics = metrics.compute();
  values.drain(&result.values);
  result.elapsed = clock.elapsed() - start;
  return result;
}

}  // namespace millrace
