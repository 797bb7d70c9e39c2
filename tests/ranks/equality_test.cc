// Tests a dense model trained on the same global batches by 1, 2 and 3 ranks.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/nn/functional/loss.h>
#include <torch/nn/modules/linear.h>
#include <torch/types.h>

#include <cmath>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "base/status_matchers.h"
#include "distributed/thread_collectives.h"
#include "framework/model/model.h"
#include "framework/model/model_parts.h"
#include "framework/trainer.h"
#include "hook/hook.h"
#include "optim/dense_optimizer_factory.h"
#include "optim/moving_average.h"
#include "tests/fakes/fake_dataset.h"

namespace millrace {
namespace {

constexpr int64_t kSteps = 100;
constexpr int64_t kBatch = 48;
constexpr int64_t kDense = 16;

// The divisor of the loss of a batch.
enum class Targets { kExamples, kGiven, kCounted };

// Two hidden layers, values without randomness, and unequal targets in each batch. With counted
// targets there is an output for each of two labels, some of which are missing.
class Mlp : public Model {
 public:
  explicit Mlp(Targets targets) : targets_(targets) {
    const int64_t sizes[] = {kDense, 64, 32, targets == Targets::kCounted ? 2 : 1};
    for (int i = 0; i < 3; ++i) {
      layers_.push_back(
          register_module(absl::StrCat("fc", i), torch::nn::Linear(sizes[i], sizes[i + 1])));
      const torch::NoGradGuard no_gradients;
      at::Tensor weight = layers_.back()->weight;
      weight.copy_(torch::sin(torch::arange(weight.numel()).view(weight.sizes()) * 0.7 + i) /
                   std::sqrt(static_cast<double>(sizes[i])));
      layers_.back()->bias.zero_();
    }
  }
  absl::StatusOr<ModelOutput> forward(const Batch& batch) override {
    at::Tensor x = batch.dense;
    for (size_t i = 0; i < layers_.size(); ++i) {
      x = layers_[i]->forward(x);
      if (i + 1 < layers_.size()) x = x.relu();
    }
    ModelOutput output;
    at::Tensor losses = torch::binary_cross_entropy_with_logits(x, batch.labels.nan_to_num(), {},
                                                                {}, at::Reduction::None);
    if (targets_ == Targets::kGiven) {
      // Only examples whose second value is positive are targets.
      const at::Tensor mask = (batch.dense.select(1, 1) > 0).to(at::kFloat).unsqueeze(1);
      losses = losses * mask;
      output.targets = mask.sum();
    }
    output.loss = targets_ == Targets::kCounted
                      ? (losses * batch.labels.isnan().logical_not()).sum(0)
                      : losses.sum();
    output.predictions = x.sigmoid();
    return output;
  }
  absl::StatusOr<std::vector<int64_t>> count_targets(const Batch& batch) override {
    if (targets_ != Targets::kCounted) return std::vector<int64_t>();
    const at::Tensor counts = batch.labels.isnan().logical_not().sum(0);
    return std::vector<int64_t>{counts[0].item<int64_t>(), counts[1].item<int64_t>()};
  }

 private:
  const Targets targets_;
  std::vector<torch::nn::Linear> layers_;
};

// Skips one bad example before each batch of a rank.
class SkippingDataset : public FakeDataset {
 public:
  using FakeDataset::FakeDataset;
  absl::StatusOr<std::optional<Batch>> next() override {
    absl::StatusOr<std::optional<Batch>> batch = FakeDataset::next();
    if (batch.ok() && batch->has_value()) (*batch)->bad_examples = 1;
    return batch;
  }
};

struct Setup {
  bool adam = false;
  Targets targets = Targets::kExamples;
  int64_t micro_batches = 1;
  bool average = false;
  int changed_rank = -1;  // on which the last bit of a parameter changes after step 13; -1: none
};

// Changes the last bit of the first number after step 13.
class ParameterChange : public Hook {
 public:
  explicit ParameterChange(at::Tensor parameter) : parameter_(std::move(parameter)) {}
  absl::string_view name() const override { return "parameter_change"; }
  absl::Status after_step(HookContext& context, const StepResult&) override {
    float* const number = parameter_.mutable_data_ptr<float>();
    if (context.progress().step == 13) *number = std::nextafter(*number, 1.0f);
    return absl::OkStatus();
  }

 private:
  at::Tensor parameter_;
};

// Returns all parameters, and their moving averages if any, concatenated.
absl::StatusOr<at::Tensor> train(const Setup& setup, std::unique_ptr<Collectives> collectives) {
  TrainerParts parts;
  parts.model = std::make_shared<Mlp>(setup.targets);
  DenseOptimizerConfig config;
  config.set_learning_rate(setup.adam ? 0.001 : 0.1);
  setup.adam ? (void)config.mutable_adam() : (void)config.mutable_sgd();
  const std::vector<NamedParameter> parameters = parameters_of(*parts.model);
  ASSIGN_OR_RETURN(std::unique_ptr<DenseOptimizer> optimizer,
                   create_dense_optimizer(config, parameters));
  parts.dense_optimizers.push_back(std::move(optimizer));
  if (setup.average) {
    ASSIGN_OR_RETURN(parts.moving_average,
                     MovingAverage::create(MovingAverageConfig(), parameters));
  }
  const MovingAverage* const average = parts.moving_average.get();  // the trainer's
  FakeDatasetOptions data;
  data.batches = kSteps * setup.micro_batches;
  data.batch_size = kBatch;
  data.dense = kDense;
  data.two_labels = setup.targets == Targets::kCounted;
  const int rank = data.rank = collectives->rank();
  data.world_size = collectives->world_size();
  parts.train_data = std::make_unique<SkippingDataset>(data);
  parts.collectives = std::move(collectives);
  TrainerOptions options;
  options.micro_batches = setup.micro_batches;
  options.report = {.every_steps = 10, .at_end = true};
  if (setup.targets == Targets::kCounted) options.tasks = {"click", "buy"};
  ASSIGN_OR_RETURN(std::unique_ptr<Trainer> trainer, Trainer::create(options, std::move(parts)));
  if (rank == setup.changed_rank) {
    RETURN_IF_ERROR(
        trainer->add_hook(std::make_unique<ParameterChange>(parameters[0].value.detach())));
  }
  ASSIGN_OR_RETURN(const Summary summary, trainer->train());
  EXPECT_EQ(summary.progress.step, kSteps);
  EXPECT_EQ(summary.progress.examples, kSteps * kBatch * setup.micro_batches);
  EXPECT_EQ(summary.bad_examples, data.batches * data.world_size) << "of all ranks";
  std::vector<at::Tensor> flat;
  for (const NamedParameter& parameter : parameters) {
    flat.push_back(parameter.value.detach().flatten());
  }
  if (average != nullptr) {
    for (const NamedParameter& tensor : average->state()) {
      flat.push_back(tensor.value.to(at::kFloat).flatten());
    }
  }
  return at::cat(flat).to(at::kDouble);
}

// Returns the results by rank.
std::vector<at::Tensor> train_ranks(const Setup& setup, int world_size) {
  std::vector<at::Tensor> parameters(world_size);
  ThreadRanksOptions options;
  options.world_size = world_size;
  const auto outcomes =
      run_thread_ranks(options, [&](std::unique_ptr<Collectives> collectives) -> absl::Status {
        const int rank = collectives->rank();
        ASSIGN_OR_RETURN(parameters[rank], train(setup, std::move(collectives)));
        return absl::OkStatus();
      });
  for (const absl::Status& outcome : outcomes) EXPECT_OK(outcome);
  return parameters;
}

void expect_equal(const Setup& setup) {
  const at::Tensor one = train_ranks(setup, 1)[0];
  for (const int world_size : {1, 2, 3}) {
    SCOPED_TRACE(absl::StrCat(world_size, " ranks"));
    const std::vector<at::Tensor> first = train_ranks(setup, world_size);
    const std::vector<at::Tensor> again = train_ranks(setup, world_size);
    ASSERT_TRUE(first[0].defined() && again[0].defined());
    for (int rank = 0; rank < world_size; ++rank) {
      EXPECT_TRUE(at::equal(first[rank], first[0])) << "all ranks hold the same bits";
      EXPECT_TRUE(at::equal(first[rank], again[rank])) << "from run to run";
    }
    const double difference = (first[0] - one).norm().item<double>() / one.norm().item<double>();
    EXPECT_LT(difference, 1e-6);
    testing::Test::RecordProperty(absl::StrCat("relative_difference_over_", world_size),
                                  absl::StrCat(difference));
  }
}

TEST(Equality, Sgd) { expect_equal({}); }
TEST(Equality, Adam) { expect_equal({.adam = true}); }
TEST(Equality, MovingAverage) { expect_equal({.adam = true, .average = true}); }
TEST(Equality, TargetsAndMicroBatches) {
  expect_equal({.adam = false, .targets = Targets::kGiven, .micro_batches = 3});
}
// The ranks have different targets of each task, and some micro-batches have none.
TEST(Equality, TasksAndMicroBatches) {
  expect_equal({.adam = true, .targets = Targets::kCounted, .micro_batches = 3});
}

TEST(Equality, TheReportAfterAChangeOnOneRankNamesTheRank) {
  const auto outcomes = run_thread_ranks({.world_size = 2}, [](auto collectives) {
    return train({.changed_rank = 1}, std::move(collectives)).status();
  });
  for (const absl::Status& outcome : outcomes) {
    EXPECT_THAT(outcome, StatusIs(absl::StatusCode::kFailedPrecondition,
                                  testing::HasSubstr("rank 1 differs from rank 0: dense parameters "
                                                     "after step 20: 6 parameters")));
  }
}

}  // namespace
}  // namespace millrace
