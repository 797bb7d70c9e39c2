#include "framework/loop/train_step.h"

#include <ATen/ATen.h>
#include <ATen/CPUGeneratorImpl.h>
#include <google/protobuf/descriptor.h>

#include <chrono>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/catch_exceptions.h"
#include "base/failure_kind.h"
#include "base/random/philox.h"
#include "base/status_macros.h"
#include "framework/device/on_device.h"
#include "framework/model/model.h"
#include "framework/model/model_output.h"
#include "framework/precision/autocast_scope.h"

namespace millrace {
namespace {

// Adds the time between its construction and destruction to a duration.
class Stopwatch {
 public:
  explicit Stopwatch(absl::Duration& total) : total_(total), start_(Now()) {}
  ~Stopwatch() { total_ += absl::FromChrono(Now() - start_); }

 private:
  static std::chrono::steady_clock::time_point Now() { return std::chrono::steady_clock::now(); }
  absl::Duration& total_;
  const std::chrono::steady_clock::time_point start_;
};

// Runs one step and holds its intermediate results.
class StepRun {
 public:
  StepRun(const TrainStepParts& parts, const StepInput& input, StepObserver& observer)
      : parts_(parts), input_(input), observer_(observer) {
    if (input.targets.empty()) return;
    factors_ = on_device(target_factors(input.targets), parts.model.device());
  }

  absl::StatusOr<StepResult> run() {
    const absl::Status status = catch_part_exceptions("the train step", [&] {
      RETURN_IF_ERROR(compute());
      return result_.applied ? update() : absl::OkStatus();
    });
    if (!status.ok() || !result_.applied) discard();
    RETURN_IF_ERROR(status);
    return std::move(result_);
  }

 private:
  // Does everything that precedes the decision about the step.
  absl::Status compute() {
    const int64_t count = static_cast<int64_t>(input_.micro_batches.size());
    for (int64_t i = 0; i < count; ++i) {
      RETURN_IF_ERROR(observer_.after_data(input_.micro_batches[i], i));
      if (input_.micro_batches[i].size > 0) {
        RETURN_IF_ERROR(run_micro_batch(i));
      }
    }
    CommitInput commit;
    commit.examples = input_.examples;
    commit.loss_scale = input_.loss_scale;
    RETURN_IF_ERROR(collect(commit));
    if (parts_.sparse_optimizer != nullptr) {
      // An error of the tables must enter the decision, because the update after the decision
      // begins with dense parameters.
      RETURN_IF_ERROR(parts_.sparse_optimizer->check(input_.progress));
      const GradientSummary summary = parts_.sparse_optimizer->summarize(false);
      if (!summary.finite) commit.non_finite = absl::StrCat("the gradient of ", summary.not_finite);
    }
    ASSIGN_OR_RETURN(const CommitDecision decision, parts_.commit.run(commit));
    gradient_scale_ = decision.gradient_scale;
    result_.loss = decision.loss;
    if (decision.targets > 0) {
      result_.loss_targets = at::scalar_tensor(decision.targets, at::kDouble);
    }
    if (!input_.targets.empty()) {
      result_.task_losses = decision.loss;
      result_.loss = decision.loss.sum();
      result_.task_targets.assign(input_.targets.begin(), input_.targets.end());
    }
    result_.refused = decision.refused;
    result_.applied = decision.apply;
    if (!result_.applied) return absl::OkStatus();
    parts_.commit.enter(RankPhase::kUpdate);
    SparseOptimizer* sparse = parts_.sparse_optimizer;
    if (parts_.clipping != nullptr) clip();
    const double scale = gradient_scale_;
    observer_.after_backward(Gradients(parts_.parameters, [sparse, scale] {
      return sparse == nullptr ? 0.0 : sparse->summarize(true).norm_squared * scale * scale;
    }));
    return absl::OkStatus();
  }

  absl::Status run_micro_batch(int64_t index) {
    const Batch& batch = input_.model_batch(index);
    const at::Device device = parts_.model.device();
    parts_.commit.enter(RankPhase::kForward);
    seed_generators(input_.seed, input_.progress.step, index, input_.rank, device);
    absl::StatusOr<ModelOutput> output = absl::InternalError("the model was not called");
    {
      Stopwatch watch(result_.timings.forward);
      RETURN_IF_ERROR(catch_part_exceptions("the model's forward pass", [&] {
        const AutocastScope autocast(parts_.compute, device.type());
        output = parts_.model.forward(batch);
        return as_part_failure(output.status());
      }));
    }
    RETURN_IF_ERROR(check_model_output(*output, batch, input_.targets.size()));
    outputs_.push_back(*std::move(output));
    computed_.push_back(&input_.micro_batches[index]);
    parts_.commit.enter(RankPhase::kBackward);
    Stopwatch watch(result_.timings.backward);
    return catch_part_exceptions("the backward pass", [&] {
      at::Tensor& loss = outputs_.back().loss;
      const bool counted = !input_.targets.empty();
      loss = counted ? loss * factors_ : loss / static_cast<double>(input_.examples);
      const at::Tensor total = counted ? loss.sum() : loss;
      // A loss that depends on no parameter has no backward pass.
      if (total.requires_grad()) scaled(total).backward();
      loss = loss.detach();
      outputs_.back().predictions = outputs_.back().predictions.detach();
      return absl::OkStatus();
    });
  }

  at::Tensor scaled(const at::Tensor& loss) const {
    return input_.loss_scale == 1 ? loss : loss * input_.loss_scale;
  }

  // Joins the results of the micro-batches.
  absl::Status collect(CommitInput& commit) {
    result_.examples = input_.examples;
    result_.learning_rate = learning_rate();
    if (outputs_.empty()) {
      // All micro-batches are empty: this rank's data has ended, and other ranks have more.
      result_.predictions = at::zeros_like(input_.micro_batches[0].labels);
      result_.labels = input_.micro_batches[0].labels;
      return absl::OkStatus();
    }
    const int64_t count = static_cast<int64_t>(outputs_.size());
    std::vector<at::Tensor> predictions, labels, weights;
    std::vector<NamedValue> reported;
    commit.loss = outputs_[0].loss;
    commit.targets = outputs_[0].targets;
    bool weighted = false;
    for (int64_t i = 0; i < count; ++i) {
      const Batch& batch = *computed_[i];
      if (outputs_[i].targets.defined() != commit.targets.defined()) {
        return wrong_result(
            "the model gave targets for some micro-batches of a step and not for others");
      }
      if (i > 0) commit.loss = commit.loss + outputs_[i].loss;
      if (i > 0 && commit.targets.defined()) commit.targets = commit.targets + outputs_[i].targets;
      predictions.push_back(outputs_[i].predictions);
      labels.push_back(batch.labels);
      weighted |= batch.weights.defined();
      weights.push_back(batch.weights.defined() ? batch.weights : at::ones({batch.size}));
      for (const NamedValue& metric : outputs_[i].metrics) reported.push_back(metric);
    }
    result_.values = step_values(std::move(reported));
    result_.predictions = count == 1 ? predictions[0] : at::cat(predictions);
    result_.labels = count == 1 ? labels[0] : at::cat(labels);
    if (weighted) result_.weights = count == 1 ? weights[0] : at::cat(weights);
    return absl::OkStatus();
  }

  // Clips gradients. Called after the decision, when all ranks have the same sums, so that they
  // compute the same norm.
  void clip() {
    GradientClipping::Result clipped =
        parts_.clipping->clip(parts_.parameters, parts_.sparse_optimizer, gradient_scale_);
    gradient_scale_ = clipped.table_scale;
    gradient_limit_ = clipped.table_limit;
    result_.figures = std::move(clipped.norms);
  }

  double learning_rate() const {
    if (!parts_.dense_optimizers.empty()) {
      return parts_.dense_optimizers[0]->learning_rate(input_.progress);
    }
    return parts_.sparse_optimizer ? parts_.sparse_optimizer->learning_rate(input_.progress) : 0.0;
  }

  absl::Status update() {
    Stopwatch watch(result_.timings.update);
    for (const std::unique_ptr<DenseOptimizer>& optimizer : parts_.dense_optimizers) {
      RETURN_IF_ERROR(optimizer->step(input_.progress));
      optimizer->zero_grad();
    }
    if (parts_.sparse_optimizer == nullptr) return absl::OkStatus();
    return parts_.sparse_optimizer->step(input_.progress, gradient_scale_, gradient_limit_);
  }

  void discard() {
    for (const std::unique_ptr<DenseOptimizer>& optimizer : parts_.dense_optimizers) {
      optimizer->zero_grad();
    }
    if (parts_.sparse_optimizer != nullptr) parts_.sparse_optimizer->discard();
  }

  const TrainStepParts& parts_;
  const StepInput& input_;
  StepObserver& observer_;
  at::Tensor factors_;  // float32 [tasks]: factor of each task's loss, if targets are counted
  std::vector<ModelOutput> outputs_;
  std::vector<const Batch*> computed_;  // inputs of outputs_, on the CPU
  // Factor of table gradients: examples / targets / loss_scale, and clipping by norm.
  double gradient_scale_ = 1;
  double gradient_limit_ = std::numeric_limits<double>::infinity();  // of tables
  StepResult result_;
};

class StandardTrainStep : public TrainStep {
 public:
  absl::StatusOr<StepResult> run(const TrainStepParts& parts, const StepInput& input,
                                 StepObserver& observer) override {
    return StepRun(parts, input, observer).run();
  }
  bool can_repeat() const override { return true; }
};

}  // namespace

std::unique_ptr<TrainStep> create_standard_train_step() {
  return std::make_unique<StandardTrainStep>();
}

void seed_generators(uint64_t seed, int64_t step, int64_t micro_batch, int rank,
                     at::Device device) {
  const uint64_t stream = static_cast<uint64_t>(micro_batch) << 32 | static_cast<uint32_t>(rank);
  const uint64_t own = philox64(seed, stream, static_cast<uint64_t>(step));
  const auto set = [own](at::Generator generator) {
    std::lock_guard<std::mutex> lock(generator.mutex());
    generator.set_current_seed(own);
  };
  set(at::detail::getDefaultCPUGenerator());
  if (!device.is_cpu()) set(at::globalContext().defaultGenerator(device));
}

namespace {

std::vector<TrainStepRegistry::Kind> train_step_kinds() {
  return {{TrainStepConfig::kStandard, [](const auto&) { return create_standard_train_step(); }}};
}

}  // namespace

MILLRACE_PART_FAMILY(train_step, TrainStepRegistry, "train step",
                     "train_step { custom { name: \"NAME\" } }", "kind", train_step_kinds(),
                     TrainStepConfig::kStandard);

absl::StatusOr<std::unique_ptr<TrainStep>> create_train_step(const TrainStepConfig& config) {
  return train_step_registry().create(config);
}

}  // namespace millrace
