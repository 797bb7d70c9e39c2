// A train step: the standard one, with noise.
#include <ATen/ATen.h>
#include <ATen/CPUGeneratorImpl.h>

#include <cmath>

#include "base/status_macros.h"
#include "examples/own_job/own_job.pb.h"
#include "framework/loop/train_step.h"

namespace millrace {
namespace {

// Adds noise to the dense gradients before hooks see them.
class NoisyObserver : public StepObserver {
 public:
  NoisyObserver(StepObserver& trainer, const TrainStepParts& parts, const StepInput& input,
                double stddev)
      : trainer_(trainer), parts_(parts), input_(input), stddev_(stddev) {}

  absl::Status after_data(const Batch& batch, int64_t micro_batch) override {
    return trainer_.after_data(batch, micro_batch);
  }

  void after_backward(const Gradients& gradients) override {
    // Gradients are already summed over ranks, so all ranks must add the same noise.
    constexpr uint64_t kStream = 0x9e3779b97f4a7c15;
    at::Generator generator = at::detail::createCPUGenerator(
        input_.seed ^ kStream * static_cast<uint64_t>(input_.progress.step + 1));
    for (const NamedParameter& parameter : parts_.parameters) {
      at::Tensor gradient = parameter.value.grad();
      if (stddev_ == 0 || !gradient.defined()) continue;
      // The noise is drawn on the CPU, so that it does not depend on the device.
      const at::Tensor noise =
          at::randn(gradient.sizes(), generator, gradient.options().device(at::kCPU));
      gradient.add_(noise.to(gradient.device()), stddev_);
    }
    trainer_.after_backward(gradients);
  }

 private:
  StepObserver& trainer_;
  const TrainStepParts& parts_;
  const StepInput& input_;
  const double stddev_;
};

// The standard step, whose dense gradients get Gaussian noise.
// Source: A. Neelakantan et al., "Adding gradient noise improves learning for very deep networks",
// 2015, with a constant deviation.
class GradientNoiseStep : public TrainStep {
 public:
  static absl::StatusOr<std::unique_ptr<TrainStep>> create(const CustomConfig& custom) {
    const double stddev = custom.GetExtension(gradient_noise).stddev();
    // Gradients are float32.
    if (!(stddev >= 0 && std::isfinite(static_cast<float>(stddev)))) {
      return absl::InvalidArgumentError("stddev must be at least 0 and finite in float32");
    }
    return std::make_unique<GradientNoiseStep>(stddev);
  }

  explicit GradientNoiseStep(double stddev) : stddev_(stddev) {}

  absl::StatusOr<StepResult> run(const TrainStepParts& parts, const StepInput& input,
                                 StepObserver& observer) override {
    NoisyObserver noisy(observer, parts, input, stddev_);
    return step_->run(parts, input, noisy);
  }

  bool can_repeat() const override { return step_->can_repeat(); }

 private:
  const double stddev_;
  const std::unique_ptr<TrainStep> step_ = create_standard_train_step();
};

MILLRACE_REGISTER_TRAIN_STEP(gradient_noise, "the standard step with noise in dense gradients",
                             &GradientNoiseStep::create);

}  // namespace
}  // namespace millrace
