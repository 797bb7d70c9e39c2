// A job whose model and hook fail on a rank, at a place and in a way that its configuration
// chooses.
#include <ATen/ops/full_like.h>
#include <ATen/record_function.h>
#include <signal.h>
#include <torch/nn/modules/linear.h>
#include <unistd.h>

#include <cstdlib>
#include <iostream>
#include <limits>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "base/mutex.h"
#include "base/status_macros.h"
#include "distributed/collectives.h"
#include "framework/model/model.h"
#include "framework/model/model_registry.h"
#include "hook/hook.h"
#include "hook/hook_registry.h"
#include "models/binary_output.h"
#include "tests/e2e/faulty_job.pb.h"
#include "tools/cli.h"
#include "tools/process_start.h"

namespace millrace {
namespace {

// Returns the number that the launcher set; 0 without a launcher.
int number_in(const char* variable) {
  const char* number = std::getenv(variable);
  return number == nullptr ? 0 : std::atoi(number);
}

int own_rank() { return number_in("RANK"); }

// The published state of a rank.
class Told {
 public:
  void operator()(RankPhase phase, int64_t step) {
    MutexLock lock(mutex_);
    times_ = phase == phase_ && step == step_ ? times_ + 1 : 1;
    phase_ = phase;
    step_ = step;
  }
  // Waits until the others can know the current state of this rank: until two consecutive
  // publications, at least one of which has the current state. The store ends with rank 0, so the
  // others must also have read rank 0's state, which they do several times between two
  // publications.
  void await() {
    const int times = own_rank() == 0 ? 3 : 2;
    MutexLock lock(mutex_);
    times_ = 0;
    mutex_.await([&] { return times_ >= times; });
  }

 private:
  Mutex mutex_;
  RankPhase phase_ = RankPhase::kEnd;
  int64_t step_ = -1;
  int times_ = 0;
};

// The process has one object, as it has one rank: parts created by name cannot get an object.
Told& told() {
  static Told told;
  return told;
}

bool is_due(const FaultConfig& fault, FaultConfig::Place place, int64_t step) {
  const bool in_start =
      fault.start() < 0 || fault.start() == number_in("TORCHELASTIC_RESTART_COUNT");
  return fault.place() == place && fault.rank() == own_rank() && in_start &&
         (fault.step() == step || place == FaultConfig::EVALUATION || place == FaultConfig::START);
}

bool is_silent(const FaultConfig& fault) {
  switch (fault.kind()) {
    case FaultConfig::KILL:
    case FaultConfig::FREEZE:
    case FaultConfig::CRASH:
    case FaultConfig::LOOP: return true;
    default: return false;
  }
}

void announce(const FaultConfig& fault) {
  std::cerr << "faulty: " << FaultConfig::Place_Name(fault.place()) << " process " << ::getpid()
            << std::endl;
}

// Performs `fault`, or returns its error.
absl::Status fail(const FaultConfig& fault) {
  if (is_silent(fault)) told().await();
  announce(fault);
  switch (fault.kind()) {
    case FaultConfig::ERROR: return absl::DataLossError("planted error");
    case FaultConfig::THROW: throw std::runtime_error("planted exception");
    case FaultConfig::KILL:
    case FaultConfig::FREEZE:
      ::raise(fault.kind() == FaultConfig::KILL ? SIGKILL : SIGSTOP);
      return absl::OkStatus();
    case FaultConfig::SPOIL: return absl::OkStatus();
    case FaultConfig::CRASH:
      ::signal(SIGSEGV, SIG_DFL);  // without the handler of a sanitizer
      ::raise(SIGSEGV);
      return absl::OkStatus();
    case FaultConfig::LOOP:
      for (;;) ::pause();
  }
  return absl::OkStatus();
}

// The fault of an optimizer's update, and the parameters that the update will change. Callbacks of
// operators are plain functions, so the process has one object.
struct UpdateFault {
  FaultConfig fault;
  std::vector<at::Tensor> parameters;
};
UpdateFault& update_fault() {
  static UpdateFault fault;
  return fault;
}

// Called before each operator. The first operator that changes a parameter in place belongs to the
// update.
std::unique_ptr<at::ObserverContext> before_operator(const at::RecordFunction& function) {
  if (!absl::EndsWith(function.name(), "_") || function.inputs().empty()) return nullptr;
  const c10::IValue& changed = function.inputs()[0];
  for (const at::Tensor& parameter : update_fault().parameters) {
    if (changed.isTensor() && changed.toTensor().is_same(parameter)) {
      fail(update_fault().fault).IgnoreError();
    }
  }
  return nullptr;
}

// Makes the following update fail: a signal interrupts the update, or the optimizer refuses a
// gradient of another shape.
void spoil_update(const FaultConfig& fault, const Gradients& gradients) {
  if (!is_silent(fault)) {
    announce(fault);
    gradients.dense()[0].value.grad().resize_({0});
    return;
  }
  update_fault().fault = fault;
  for (const NamedParameter& parameter : gradients.dense()) {
    update_fault().parameters.push_back(parameter.value);
  }
  at::addThreadLocalCallback(at::RecordFunctionCallback(&before_operator)
                                 .needsInputs(true)
                                 .scopes({at::RecordScope::FUNCTION}));
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
  bool failed_ = false;  // the step after a refused step has the same number
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
  absl::Status after_backward(HookContext& context, const Gradients& gradients) override {
    if (is_due(fault_, FaultConfig::UPDATE, context.progress().step)) {
      spoil_update(fault_, gradients);
    }
    return at(context, FaultConfig::AFTER_BACKWARD);
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

int main(int argc, char** argv) {
  millrace::prepare_process(argv);
  return millrace::run_program(
      argc, argv, [](millrace::RankPhase phase, int64_t step) { millrace::told()(phase, step); });
}
