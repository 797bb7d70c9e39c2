#include "framework/train_step.h"

#include <ATen/ATen.h>
#include <ATen/CPUGeneratorImpl.h>

#include <chrono>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/philox.h"
#include "base/status_macros.h"
#include "framework/guarded.h"
#include "framework/model.h"
#include "framework/model_output_check.h"

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

// Whether all elements are finite: exponents of all ones mark infinities and not-a-numbers.
bool all_finite(const at::Tensor& tensor) {
  if (!tensor.device().is_cpu() || tensor.scalar_type() != at::kFloat || !tensor.is_contiguous()) {
    return tensor.isfinite().all().item<bool>();
  }
  const char* bytes = static_cast<const char*>(tensor.const_data_ptr());
  const int64_t count = tensor.numel();
  uint32_t found = 0;
  for (int64_t i = 0; i < count; ++i) {
    uint32_t bits;
    std::memcpy(&bits, bytes + i * sizeof(bits), sizeof(bits));
    found |= static_cast<uint32_t>((bits & 0x7f800000u) == 0x7f800000u);
  }
  return found == 0;
}

// Runs one step and holds what it collects on the way.
class StepRun {
 public:
  StepRun(const TrainStepParts& parts, const StepInput& input, StepObserver& observer)
      : parts_(parts), input_(input), observer_(observer) {}

  absl::StatusOr<StepResult> run() {
    const absl::Status status = guarded("the train step", [&] {
      RETURN_IF_ERROR(compute());
      return result_.applied ? update() : absl::OkStatus();
    });
    if (!status.ok() || !result_.applied) discard();
    RETURN_IF_ERROR(status);
    return std::move(result_);
  }

 private:
  // Everything up to the decision whether the step is applied.
  absl::Status compute() {
    const int64_t count = static_cast<int64_t>(input_.micro_batches.size());
    for (int64_t i = 0; i < count; ++i) {
      RETURN_IF_ERROR(observer_.after_data(input_.micro_batches[i], i));
      RETURN_IF_ERROR(run_micro_batch(input_.micro_batches[i], i));
    }
    RETURN_IF_ERROR(collect(count));
    RETURN_IF_ERROR(correct_targets());
    ASSIGN_OR_RETURN(result_.refused, find_non_finite());
    result_.applied = result_.refused.empty();
    if (!result_.applied) return absl::OkStatus();
    SparseOptimizer* sparse = parts_.sparse_optimizer;
    const double scale = gradient_scale_;
    const Gradients gradients(parts_.parameters, [sparse, scale] {
      return sparse == nullptr ? 0.0 : sparse->summarize(true).norm_squared * scale * scale;
    });
    return observer_.after_backward(gradients);
  }

  absl::Status run_micro_batch(const Batch& batch, int64_t index) {
    seed_generators(input_.seed, input_.progress.step, index, input_.rank);
    absl::StatusOr<ModelOutput> output = absl::InternalError("the model was not called");
    {
      Stopwatch watch(result_.timings.forward);
      RETURN_IF_ERROR(guarded("the model's forward pass", [&] {
        output = parts_.model.forward(batch);
        return output.status();
      }));
    }
    RETURN_IF_ERROR(check_model_output(*output, batch));
    outputs_.push_back(*std::move(output));
    Stopwatch watch(result_.timings.backward);
    return guarded("the backward pass", [&] {
      at::Tensor& loss = outputs_.back().loss;
      loss = loss / static_cast<double>(input_.examples);
      // A loss that no parameter has a part in has nothing to go back through.
      if (loss.requires_grad()) loss.backward();
      loss = loss.detach();
      outputs_.back().predictions = outputs_.back().predictions.detach();
      return absl::OkStatus();
    });
  }

  // Joins what the micro-batches gave.
  absl::Status collect(int64_t count) {
    std::vector<at::Tensor> predictions, labels, weights;
    at::Tensor loss = outputs_[0].loss;
    targets_ = outputs_[0].targets;
    bool weighted = false;
    for (int64_t i = 0; i < count; ++i) {
      const Batch& batch = input_.micro_batches[i];
      if (outputs_[i].targets.defined() != targets_.defined()) {
        return absl::InvalidArgumentError(
            "the model gave targets for some micro-batches of a step and not for others");
      }
      if (i > 0) loss = loss + outputs_[i].loss;
      if (i > 0 && targets_.defined()) targets_ = targets_ + outputs_[i].targets;
      predictions.push_back(outputs_[i].predictions);
      labels.push_back(batch.labels);
      weighted |= batch.weights.defined();
      weights.push_back(batch.weights.defined() ? batch.weights : at::ones({batch.size}));
      for (const NamedValue& metric : outputs_[i].metrics) add_value(metric, count);
    }
    result_.predictions = count == 1 ? predictions[0] : at::cat(predictions);
    result_.labels = count == 1 ? labels[0] : at::cat(labels);
    if (weighted) result_.weights = count == 1 ? weights[0] : at::cat(weights);
    // Divided by the examples before its backward pass.
    result_.loss =
        targets_.defined() ? loss * static_cast<double>(input_.examples) / targets_ : loss;
    result_.examples = input_.examples;
    result_.learning_rate = learning_rate();
    return absl::OkStatus();
  }

  void add_value(const NamedValue& metric, int64_t count) {
    const at::Tensor value = metric.value.detach() / static_cast<double>(count);
    for (auto& [name, sum] : result_.values) {
      if (name == metric.name) {
        sum = sum + value;
        return;
      }
    }
    result_.values.emplace_back(metric.name, value);
  }

  double learning_rate() const {
    if (!parts_.dense_optimizers.empty()) {
      return parts_.dense_optimizers[0]->learning_rate(input_.progress);
    }
    return parts_.sparse_optimizer ? parts_.sparse_optimizer->learning_rate(input_.progress) : 0.0;
  }

  // The backward passes divided by examples; what the model wants is a division by targets.
  absl::Status correct_targets() {
    if (!targets_.defined()) return absl::OkStatus();
    const double targets = targets_.item<double>();
    if (!(targets > 0)) {
      return absl::InvalidArgumentError(absl::StrCat("the model's targets add up to ", targets,
                                                     " in this step; they must be positive"));
    }
    gradient_scale_ = static_cast<double>(input_.examples) / targets;
    for (const NamedParameter& parameter : parts_.parameters) {
      at::Tensor gradient = parameter.value.grad();
      if (gradient.defined()) gradient.mul_(gradient_scale_);
    }
    return absl::OkStatus();
  }

  // What was not finite, or "".
  absl::StatusOr<std::string> find_non_finite() {
    if (!all_finite(result_.loss)) return std::string("the loss");
    for (const NamedParameter& parameter : parts_.parameters) {
      const at::Tensor gradient = parameter.value.grad();
      if (gradient.defined() && !all_finite(gradient)) {
        return absl::StrCat("the gradient of ", parameter.name);
      }
    }
    if (parts_.sparse_optimizer != nullptr && !parts_.sparse_optimizer->summarize(false).finite) {
      return std::string("the gradient of a table");
    }
    return std::string();
  }

  absl::Status update() {
    Stopwatch watch(result_.timings.update);
    for (const std::unique_ptr<DenseOptimizer>& optimizer : parts_.dense_optimizers) {
      RETURN_IF_ERROR(optimizer->step(input_.progress));
      optimizer->zero_grad();
    }
    if (parts_.sparse_optimizer == nullptr) return absl::OkStatus();
    return parts_.sparse_optimizer->step(input_.progress, gradient_scale_);
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
  std::vector<ModelOutput> outputs_;
  at::Tensor targets_;         // summed over micro-batches; undefined: examples
  double gradient_scale_ = 1;  // examples / targets
  StepResult result_;
};

class StandardTrainStep : public TrainStep {
 public:
  absl::StatusOr<StepResult> run(const TrainStepParts& parts, const StepInput& input,
                                 StepObserver& observer) override {
    return StepRun(parts, input, observer).run();
  }
};

}  // namespace

std::unique_ptr<TrainStep> create_standard_train_step() {
  return std::make_unique<StandardTrainStep>();
}

void seed_generators(uint64_t seed, int64_t step, int64_t micro_batch, int rank) {
  const uint64_t stream = static_cast<uint64_t>(micro_batch) << 32 | static_cast<uint32_t>(rank);
  at::Generator generator = at::detail::getDefaultCPUGenerator();
  std::lock_guard<std::mutex> lock(generator.mutex());
  generator.set_current_seed(philox64(seed, stream, static_cast<uint64_t>(step)));
}

}  // namespace millrace
