#include <ATen/ATen.h>
#include <torch/nn/modules/linear.h>
#include <torch/types.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "base/version.h"
#include "bench/benchmark.h"
#include "distributed/c10d_collectives.h"
#include "distributed/collectives.h"
#include "distributed/forwarded_collectives.h"
#include "framework/model/model.h"
#include "framework/model/model_parts.h"
#include "framework/trainer.h"
#include "optim/dense_optimizer_factory.h"

namespace millrace {
namespace {

using SteadyClock = std::chrono::steady_clock;

constexpr int64_t kExchangeSteps = 200;  // of a measurement
constexpr double kStepMs = 5;

enum Mode { kNone, kHidden, kSynchronous, kModes };

double milliseconds_since(SteadyClock::time_point start) {
  return std::chrono::duration<double, std::milli>(SteadyClock::now() - start).count();
}

// A fixed amount of arithmetic, which takes longer if other work uses the core.
class Work {
 public:
  void run() {
    for (int64_t i = 0; i < rounds_; ++i) {
      for (float& value : values_) value = value * 0.999f + 0.001f;
    }
  }
  // Finds the amount that takes `milliseconds` on this machine.
  void calibrate(double milliseconds) {
    double fastest = 0;
    rounds_ = 1000;
    for (int i = 0; i < 200; ++i) {
      const auto start = SteadyClock::now();
      run();
      const double taken = milliseconds_since(start);
      fastest = i == 0 ? taken : std::min(fastest, taken);
    }
    rounds_ = std::max<int64_t>(1, static_cast<int64_t>(1000 * milliseconds / fastest));
  }
  int64_t rounds() const { return rounds_; }
  void set_rounds(int64_t rounds) { rounds_ = rounds; }

 private:
  int64_t rounds_ = 0;
  std::vector<float> values_ = std::vector<float>(64, 1.0f);
};

// Leaves the step exchange (sums of integers) unchanged, waits for it at once, or replaces it by a
// local computation, since all ranks of this benchmark contribute equal values. Forwards all other
// collectives.
class StepExchangeMode : public ForwardedCollectives {
 public:
  StepExchangeMode(Collectives& others, Mode mode) : ForwardedCollectives(others), mode_(mode) {}
  using ForwardedCollectives::start_sum;
  std::unique_ptr<PendingCollective> start_sum(absl::Span<int64_t> values) override {
    if (mode_ == kNone) {
      for (int64_t& value : values) value *= world_size();
      return std::make_unique<EndedCollective>(absl::OkStatus());
    }
    std::unique_ptr<PendingCollective> pending = others().start_sum(values);
    if (mode_ == kHidden) return pending;
    return std::make_unique<EndedCollective>(pending->wait());
  }

 private:
  const Mode mode_;
};

// A small dense layer, and work in place of the rest of a model.
class WorkingModel : public Model {
 public:
  explicit WorkingModel(Work& work)
      : work_(work), linear_(register_module("linear", torch::nn::Linear(16, 64))) {}
  absl::StatusOr<ModelOutput> forward(const Batch& batch) override {
    work_.run();
    ModelOutput output;
    const at::Tensor out = linear_->forward(batch.dense);
    output.loss = out.square().sum();
    output.predictions = out.narrow(1, 0, 1).detach();
    return output;
  }

 private:
  Work& work_;
  torch::nn::Linear linear_;
};

// Repeats one batch.
class Repeating : public Dataset {
 public:
  explicit Repeating(int64_t steps) : left_(steps) {
    batch_.size = 64;
    batch_.dense = at::full({64, 16}, 0.5);
    batch_.labels = at::zeros({64, 1});
  }
  absl::Status start_epoch(int64_t) override { return absl::OkStatus(); }
  absl::Status seek(absl::Span<const Cursor>) override {
    return absl::UnimplementedError("a benchmark's data has no positions");
  }
  absl::StatusOr<std::optional<Batch>> next() override {
    if (left_-- <= 0) return std::optional<Batch>();
    return std::optional<Batch>(batch_);
  }
  void cancel() override {}

 private:
  Batch batch_;
  int64_t left_;
};

// Records the ends of steps.
class StepTimes : public Hook {
 public:
  explicit StepTimes(std::vector<double>& times) : times_(times) {}
  absl::string_view name() const override { return "step_times"; }
  absl::Status after_step(HookContext&, const StepResult&) override {
    times_.push_back(milliseconds_since(start_));
    start_ = SteadyClock::now();
    return absl::OkStatus();
  }

 private:
  std::vector<double>& times_;
  SteadyClock::time_point start_ = SteadyClock::now();
};

// Returns the median time of a step of the trainer, in ms.
absl::StatusOr<double> measure_exchange(Collectives& collectives, Work& work, Mode mode,
                                        int64_t steps) {
  torch::manual_seed(1);
  TrainerParts parts;
  parts.model = std::make_shared<WorkingModel>(work);
  DenseOptimizerConfig config;
  config.mutable_sgd();
  ASSIGN_OR_RETURN(std::unique_ptr<DenseOptimizer> optimizer,
                   create_dense_optimizer(config, parameters_of(*parts.model)));
  parts.dense_optimizers.push_back(std::move(optimizer));
  parts.train_data = std::make_unique<Repeating>(steps);
  parts.collectives = std::make_unique<StepExchangeMode>(collectives, mode);
  TrainerOptions options;
  options.report = {};
  options.metrics = {"mean"};
  std::vector<double> times;
  ASSIGN_OR_RETURN(std::unique_ptr<Trainer> trainer, Trainer::create(options, std::move(parts)));
  RETURN_IF_ERROR(trainer->add_hook(std::make_unique<StepTimes>(times)));
  RETURN_IF_ERROR(trainer->train().status());
  std::nth_element(times.begin(), times.begin() + steps / 2, times.end());
  return times[static_cast<size_t>(steps / 2)];
}

}  // namespace

absl::Status bench_exchange(const BenchmarkFlags& flags, const PrintMeasurement& print) {
  C10dOptions options;
  ASSIGN_OR_RETURN(options.environment, read_rank_environment());
  if (options.environment.world_size < 2) {
    return absl::InvalidArgumentError(
        "bench exchange needs ranks: millrace launch -n 2 -- bench exchange");
  }
  options.identity = {.name = "bench exchange", .version = kVersion, .config = ""};
  ASSIGN_OR_RETURN(const std::unique_ptr<Collectives> collectives, connect_c10d(options));
  const int64_t steps = flags.steps > 0 ? flags.steps : kExchangeSteps;
  Work work;
  if (collectives->rank() == 0) work.calibrate(kStepMs);
  // All ranks do the amount of work that rank 0 found.
  ASSIGN_OR_RETURN(const std::string rounds,
                   collectives->broadcast(absl::StrCat(work.rounds()), 0));
  work.set_rounds(std::stoll(rounds));
  Measurement times[] = {{"exchange/step_without_exchange", {}, "ms/step", false, {}},
                         {"exchange/step_with_hidden_exchange", {}, "ms/step", false, {}},
                         {"exchange/step_with_synchronous_exchange", {}, "ms/step", false, {}}};
  Measurement added[] = {{"exchange/added_by_hidden_exchange", {}, "%", false, {}},
                         {"exchange/added_by_synchronous_exchange", {}, "%", false, {}}};
  for (int64_t i = 0; i <= flags.repeats; ++i) {
    double taken[kModes];
    for (const Mode mode : {kNone, kHidden, kSynchronous}) {
      ASSIGN_OR_RETURN(taken[mode], measure_exchange(*collectives, work, mode, steps));
    }
    if (i == 0) continue;  // warm-up
    for (int mode = 0; mode < kModes; ++mode) times[mode].values.push_back(taken[mode]);
    for (int mode = kHidden; mode < kModes; ++mode) {
      added[mode - 1].values.push_back(100 * (taken[mode] - taken[kNone]) / taken[kNone]);
    }
  }
  if (collectives->rank() != 0) return absl::OkStatus();
  for (Measurement& measurement : times) {
    measurement.parameters["ranks"] = absl::StrCat(collectives->world_size());
    print(measurement);
  }
  for (const Measurement& measurement : added) print(measurement);
  return absl::OkStatus();
}

}  // namespace millrace
