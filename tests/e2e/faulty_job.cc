// A job whose model and hook fail on one rank, where and how its configuration says.
#include <ATen/ops/full_like.h>
#include <signal.h>
#include <torch/nn/modules/linear.h>
#include <unistd.h>

#include <cstdlib>
#include <iostream>
#include <limits>
#include <memory>
#include <stdexcept>

#include "base/status_macros.h"
#include "framework/hook.h"
#include "framework/hook_registry.h"
#include "framework/model.h"
#include "framework/model_registry.h"
#include "models/binary_output.h"
#include "tests/e2e/faulty_job.pb.h"

namespace millrace {
namespace {

bool is_due(const FaultConfig& fault, FaultConfig::Place place, int64_t step) {
  const char* rank = std::getenv("RANK");
  const int own = rank == nullptr ? 0 : std::atoi(rank);
  return fault.place() == place && fault.rank() == own &&
         (fault.step() == step || place == FaultConfig::EVALUATION || place == FaultConfig::START);
}

// Does what `fault` says, or returns its error.
absl::Status fail(const FaultConfig& fault) {
  std::cerr << "faulty: " << FaultConfig::Place_Name(fault.place()) << " process " << ::getpid()
            << std::endl;
  switch (fault.kind()) {
    case FaultConfig::ERROR: return absl::DataLossError("planted error");
    case FaultConfig::THROW: throw std::runtime_error("planted exception");
    case FaultConfig::KILL:
    case FaultConfig::FREEZE:
      // Longer than ranks take to tell one another what they do, so that the others know it.
      ::usleep(1'500'000);
      ::raise(fault.kind() == FaultConfig::KILL ? SIGKILL : SIGSTOP);
      return absl::OkStatus();
    case FaultConfig::SPOIL: return absl::OkStatus();
  }
  return absl::OkStatus();
}

class FaultyModel : public Model {
 public:
  static absl::StatusOr<std::shared_ptr<Model>> create(const ModelConfig& config,
                                                       const ModelResources& resources) {
    auto model = std::make_shared<FaultyModel>();
    model->fault_ = config.GetExtension(faulty_model);
    const auto inputs = static_cast<int64_t>(resources.schema.dense().size());
    model->layer_ = model->register_module("layer", torch::nn::Linear(inputs, 1));
    return model;
  }

  void begin_step(const Progress& progress, Phase) override { step_ = progress.step; }

  absl::StatusOr<ModelOutput> forward(const Batch& batch) override {
    const bool due = !failed_ && is_due(fault_, FaultConfig::FORWARD, step_);
    failed_ |= due;
    if (due) RETURN_IF_ERROR(fail(fault_));
    at::Tensor logits = layer_->forward(batch.dense).squeeze(1);
    if (due && fault_.kind() == FaultConfig::SPOIL) {
      logits = logits * at::full_like(logits, std::numeric_limits<float>::quiet_NaN());
    }
    if (is_due(fault_, FaultConfig::BACKWARD, step_)) {
      logits.register_hook([this](const at::Tensor&) {
        if (!fail(fault_).ok()) throw std::runtime_error("planted error in backward");
      });
    }
    return binary_output(logits, batch);
  }

  absl::StatusOr<ModelOutput> evaluate(const Batch& batch) override {
    if (is_due(fault_, FaultConfig::EVALUATION, step_)) RETURN_IF_ERROR(fail(fault_));
    return binary_output(layer_->forward(batch.dense).squeeze(1), batch);
  }

 private:
  FaultConfig fault_;
  int64_t step_ = 0;
  bool failed_ = false;  // a refused step has the same number again
  torch::nn::Linear layer_{nullptr};
};
MILLRACE_REGISTER_MODEL(faulty, &FaultyModel::create);

class FaultyHook : public Hook {
 public:
  explicit FaultyHook(const FaultConfig& fault) : fault_(fault) {}
  static absl::StatusOr<std::unique_ptr<Hook>> create(const HookConfig& config,
                                                      const HookResources&) {
    return std::make_unique<FaultyHook>(config.GetExtension(faulty_hook));
  }

  absl::string_view name() const override { return "faulty"; }
  absl::Status start(HookContext& context) override { return at(context, FaultConfig::START); }
  absl::Status before_step(HookContext& context) override { return at(context, FaultConfig::DATA); }
  absl::Status after_backward(HookContext& context, const Gradients&) override {
    return at(context, FaultConfig::UPDATE);
  }
  absl::Status after_step(HookContext& context, const StepResult&) override {
    return at(context, FaultConfig::BETWEEN_STEPS);
  }

 private:
  absl::Status at(HookContext& context, FaultConfig::Place place) const {
    if (context.phase() == Phase::kEvaluate) return absl::OkStatus();
    return is_due(fault_, place, context.progress().step) ? fail(fault_) : absl::OkStatus();
  }

  const FaultConfig fault_;
};
MILLRACE_REGISTER_HOOK(faulty, "fails on purpose", &FaultyHook::create);

}  // namespace
}  // namespace millrace
