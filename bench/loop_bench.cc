#include <ATen/Parallel.h>
#include <google/protobuf/text_format.h>
#include <torch/nn/functional/loss.h>
#include <torch/nn/modules/linear.h>
#include <torch/optim/sgd.h>
#include <torch/types.h>

#include <chrono>
#include <memory>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/clock.h"
#include "base/file_system.h"
#include "base/status_macros.h"
#include "bench/benchmark.h"
#include "bench/memory_dataset.h"
#include "framework/model/model.h"
#include "framework/model/model_parts.h"
#include "framework/trainer.h"
#include "hook/hook_registry.h"
#include "optim/dense_optimizer_factory.h"
#include "optim/gradient_clipping.h"
#include "optim/moving_average.h"

namespace millrace {
namespace {

constexpr int64_t kBatch = 64;
constexpr int64_t kDense = 16;
constexpr int64_t kLoopSteps = 3000;
constexpr int kHooks = 5;

// Logistic regression, so small that the overhead of the loop is visible.
class Logistic : public Model {
 public:
  Logistic() : linear_(register_module("linear", torch::nn::Linear(kDense, 1))) {}
  absl::StatusOr<ModelOutput> forward(const Batch& batch) override {
    const at::Tensor logits = linear_->forward(batch.dense);
    ModelOutput output;
    output.loss =
        torch::binary_cross_entropy_with_logits(logits, batch.labels, {}, {}, at::Reduction::Sum);
    output.predictions = logits.sigmoid();
    return output;
  }

 private:
  torch::nn::Linear linear_;
};

Batch one_batch() {
  Batch batch;
  batch.size = kBatch;
  batch.dense = torch::rand({kBatch, kDense});
  batch.labels = torch::rand({kBatch, 1}).round();
  return batch;
}

class IdleHook : public Hook {
 public:
  explicit IdleHook(int number) : name_(absl::StrCat("idle", number)) {}
  absl::string_view name() const override { return name_; }

 private:
  const std::string name_;
};

double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

// Runs a bare loop: forward pass, division of the loss, backward pass, update.
absl::StatusOr<double> bare_loop(const Batch& batch, int64_t steps) {
  Logistic model;
  torch::optim::SGD optimizer(model.parameters(), torch::optim::SGDOptions(0.001));
  const auto start = std::chrono::steady_clock::now();
  for (int64_t i = 0; i < steps; ++i) {
    ASSIGN_OR_RETURN(const ModelOutput output, model.forward(batch));
    (output.loss / static_cast<double>(batch.size)).backward();
    optimizer.step();
    optimizer.zero_grad();
  }
  return seconds_since(start);
}

// The work of a trainer in addition to the steps.
enum class Extras {
  kNone,
  kReports,   // every 100 steps
  kEquipped,  // the same, with a schedule, clipping, a moving average and early stopping
};

// Parses one of the messages of a configuration.
template <typename Message>
absl::StatusOr<Message> parsed(const char* text) {
  Message message;
  if (google::protobuf::TextFormat::ParseFromString(text, &message)) return message;
  return absl::InternalError(absl::StrCat("cannot parse ", text));
}

// Adds the extras of kEquipped except the schedule. None of them ends the run or changes the
// gradient.
absl::Status equip(TrainerParts& parts) {
  ASSIGN_OR_RETURN(const auto clipping, parsed<ClippingConfig>("max_norm: 1e9"));
  ASSIGN_OR_RETURN(parts.clipping, GradientClipping::create(clipping));
  ASSIGN_OR_RETURN(parts.moving_average,
                   MovingAverage::create(MovingAverageConfig(), parameters_of(*parts.model)));
  return absl::OkStatus();
}

absl::StatusOr<std::unique_ptr<Hook>> early_stopping() {
  ASSIGN_OR_RETURN(const auto config,
                   parsed<HookConfig>("name: 'early_stopping' [millrace.early_stopping] { "
                                      "monitor: 'train/loss' patience: 1000000 }"));
  return create_hook(config, {FileSystem::local(), Clock::real(), /*output_dir=*/"", {}});
}

absl::StatusOr<double> trainer_loop(const Batch& batch, int64_t steps,
                                    Extras extras = Extras::kNone) {
  TrainerParts parts;
  parts.model = std::make_shared<Logistic>();
  const bool equipped = extras == Extras::kEquipped;
  ASSIGN_OR_RETURN(const auto config,
                   parsed<DenseOptimizerConfig>(
                       equipped ? "sgd {} schedule { cosine { length { count: 1e6 } warmup { "
                                  "length { count: 1000 } } } }"
                                : "sgd {}"));
  if (equipped) RETURN_IF_ERROR(equip(parts));
  ASSIGN_OR_RETURN(std::unique_ptr<DenseOptimizer> optimizer,
                   create_dense_optimizer(config, parameters_of(*parts.model)));
  parts.dense_optimizers.push_back(std::move(optimizer));
  // One epoch of `steps` batches, so that the end of an epoch is not measured repeatedly.
  parts.train_data = std::make_unique<MemoryDataset>(std::vector<Batch>{batch}, steps);
  TrainerOptions options;
  options.report = {};
  if (extras != Extras::kNone) options.report.every_steps = 100;
  ASSIGN_OR_RETURN(std::unique_ptr<Trainer> trainer, Trainer::create(options, std::move(parts)));
  for (int i = 0; i < kHooks; ++i) {
    RETURN_IF_ERROR(trainer->add_hook(std::make_unique<IdleHook>(i)));
  }
  if (equipped) {
    ASSIGN_OR_RETURN(std::unique_ptr<Hook> hook, early_stopping());
    RETURN_IF_ERROR(trainer->add_hook(std::move(hook)));
  }
  const auto start = std::chrono::steady_clock::now();
  RETURN_IF_ERROR(trainer->train().status());
  return seconds_since(start);
}

}  // namespace

absl::Status bench_loop(const BenchmarkFlags& flags, const PrintMeasurement& print) {
  at::set_num_threads(1);
  const int64_t steps = flags.steps > 0 ? flags.steps : kLoopSteps;
  const Batch batch = one_batch();
  Measurement bare{"loop/bare", {}, "us/step", false, {}};
  Measurement trainer{"loop/trainer_with_5_idle_hooks", {}, "us/step", false, {}};
  Measurement added{"loop/added_by_the_trainer", {}, "us/step", false, {}};
  Measurement reports{"loop/trainer_with_reports", {}, "us/step", false, {}};
  Measurement equipped{"loop/trainer_equipped", {}, "us/step", false, {}};
  Measurement equipment{"loop/added_by_equipment", {}, "us/step", false, {}};
  for (int64_t i = 0; i <= flags.repeats; ++i) {
    ASSIGN_OR_RETURN(const double bare_seconds, bare_loop(batch, steps));
    ASSIGN_OR_RETURN(const double trainer_seconds, trainer_loop(batch, steps));
    ASSIGN_OR_RETURN(const double reports_seconds, trainer_loop(batch, steps, Extras::kReports));
    ASSIGN_OR_RETURN(const double equipped_seconds, trainer_loop(batch, steps, Extras::kEquipped));
    if (i == 0) continue;  // warm-up
    const double scale = 1e6 / static_cast<double>(steps);
    bare.values.push_back(bare_seconds * scale);
    trainer.values.push_back(trainer_seconds * scale);
    added.values.push_back((trainer_seconds - bare_seconds) * scale);
    reports.values.push_back(reports_seconds * scale);
    equipped.values.push_back(equipped_seconds * scale);
    equipment.values.push_back((equipped_seconds - reports_seconds) * scale);
  }
  for (const Measurement* measurement :
       {&bare, &trainer, &added, &reports, &equipped, &equipment}) {
    print(*measurement);
  }
  return absl::OkStatus();
}

}  // namespace millrace
