// Training in float16, with repeated steps after overflows of gradients.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/types.h>

#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/status_matchers.h"
#include "distributed/thread_collectives.h"
#include "framework/loop/train_step.h"
#include "framework/trainer.h"
#include "tests/fakes/recording_hook.h"
#include "tests/fakes/tiny_model.h"
#include "tests/fakes/tiny_trainer.h"

namespace millrace {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr int64_t kBatch = 8;
constexpr double kNoLimit = std::numeric_limits<double>::infinity();

// A run of ten steps of two micro-batches.
struct ScaledRun {
  double initial = 1024;
  double min = 1;
  double limit = kNoLimit;  // gradients overflow at a higher scale
  bool has_table = true;
  int world_size = 1;
  std::vector<std::string> events = {};
  std::vector<int64_t> repeats = {};  // repeats of each step
  std::string state = {};
  Summary summary = {};
};

// Makes the gradient of a loss infinite if it was scaled by more than run.limit.
void overflow_above(const ScaledRun& run, ModelOutput& output) {
  if (!output.loss.requires_grad()) return;
  // The gradient is the scale, divided by the examples of the step.
  const double limit = run.limit / static_cast<double>(2 * kBatch * run.world_size);
  output.loss.register_hook([limit](const at::Tensor& gradient) {
    return gradient.item<double>() > limit * 1.001 ? gradient / 0 : gradient;
  });
}

TinyTrainerOptions options_of(const ScaledRun& run) {
  TinyTrainerOptions options;
  options.train = {.batches = 20, .batch_size = kBatch, .dense = 3, .ids = 40};
  options.train.sparse = run.has_table ? 2 : 0;
  options.optimizer = "adam";
  options.table.mutable_admission()->mutable_count()->set_min_count(2);
  options.trainer.micro_batches = 2;
  options.trainer.report = {.every_steps = 4, .at_end = true};
  options.trainer.precision.set_compute(PrecisionConfig::FLOAT16);
  options.trainer.precision.mutable_loss_scale()->set_initial(run.initial);
  options.trainer.precision.mutable_loss_scale()->set_min(run.min);
  return options;
}

// Records events, and the repeats of each step.
class Watch : public RecordingHook {
 public:
  explicit Watch(ScaledRun* run) : RecordingHook(&run->events), run_(run) {}
  absl::Status after_step(HookContext& context, const StepResult& result) override {
    run_->repeats.push_back(result.repeats);
    return RecordingHook::after_step(context, result);
  }

 private:
  ScaledRun* run_;
};

absl::Status train(ScaledRun& run, std::unique_ptr<Collectives> ranks = nullptr) {
  TinyTrainerOptions options = options_of(run);
  TrainerParts parts = tiny_parts(options);
  parts.collectives = std::move(ranks);
  static_cast<TinyModel&>(*parts.model).on_output = [&run](ModelOutput& output) {
    overflow_above(run, output);
  };
  ASSIGN_OR_RETURN(const auto trainer, Trainer::create(options.trainer, std::move(parts)));
  RETURN_IF_ERROR(trainer->add_hook(std::make_unique<Watch>(&run)));
  ASSIGN_OR_RETURN(run.summary, trainer->train());
  run.state = fingerprint(trainer->model());
  return absl::OkStatus();
}

TEST(LossScalingTest, ARepeatedStepIsOneStep) {
  ScaledRun clean{.initial = 1024};
  ASSERT_OK(train(clean));
  ScaledRun repeated{.initial = 8192, .limit = 1024};
  ASSERT_OK(train(repeated));
  EXPECT_EQ(repeated.state, clean.state) << "parameters, rows, counts of admission";
  EXPECT_EQ(repeated.events, clean.events);
  EXPECT_THAT(repeated.repeats, ElementsAre(3, 0, 0, 0, 0, 0, 0, 0, 0, 0));
  EXPECT_EQ(repeated.summary.progress.step, 10);
  EXPECT_EQ(repeated.summary.progress.examples, clean.summary.progress.examples);
  EXPECT_EQ(repeated.summary.progress.skipped_steps, 0);
  EXPECT_EQ(repeated.summary.train, clean.summary.train) << "metrics";
}

TEST(LossScalingTest, ALossThatIsNotFiniteIsNotRepeated) {
  ScaledRun run;
  TinyTrainerOptions options = options_of(run);
  options.train.nan_at = 4;
  const auto trainer = tiny_trainer(options);
  ASSERT_OK(trainer->add_hook(std::make_unique<Watch>(&run)));
  ASSERT_OK_AND_ASSIGN(const Summary summary, trainer->train());
  EXPECT_EQ(summary.progress.skipped_steps, 1);
  EXPECT_THAT(run.repeats, Each(0));
}

// Running means, as in batch normalisation, count the batch of a repeated step once.
TEST(LossScalingTest, BuffersAreThoseOfTheLastComputation) {
  ScaledRun clean{.initial = 1024}, repeated{.initial = 8192, .limit = 1024};
  for (ScaledRun* run : {&clean, &repeated}) {
    TinyTrainerOptions options = options_of(*run);
    TrainerParts parts = tiny_parts(options);
    auto& model = static_cast<TinyModel&>(*parts.model);
    at::Tensor count = model.register_buffer("count", torch::zeros({}));
    model.on_output = [run, count](ModelOutput& output) {
      if (torch::GradMode::is_enabled()) count.add_(1);
      overflow_above(*run, output);
    };
    ASSERT_OK_AND_ASSIGN(const auto trainer, Trainer::create(options.trainer, std::move(parts)));
    ASSERT_OK(trainer->train());
    EXPECT_EQ(count.item<float>(), 20) << "micro-batches";
  }
}

TEST(LossScalingTest, AllRanksRepeatWhatOverflowsOnOne) {
  std::vector<ScaledRun> runs(2, ScaledRun{.initial = 8192, .has_table = false, .world_size = 2});
  runs[1].limit = 1024;
  const auto statuses =
      run_thread_ranks({.world_size = 2}, [&](std::unique_ptr<Collectives> ranks) {
        ScaledRun& run = runs[static_cast<size_t>(ranks->rank())];
        return train(run, std::move(ranks));
      });
  for (const absl::Status& status : statuses) EXPECT_OK(status);
  for (const ScaledRun& run : runs) {
    EXPECT_THAT(run.repeats, ElementsAre(3, 0, 0, 0, 0, 0, 0, 0, 0, 0));
    EXPECT_EQ(run.summary.progress.step, 10);
  }
  EXPECT_EQ(runs[0].state, runs[1].state);
}

// A custom train step without can_repeat().
class OwnStep : public TrainStep {
 public:
  absl::StatusOr<StepResult> run(const TrainStepParts& parts, const StepInput& input,
                                 StepObserver& observer) override {
    return standard_->run(parts, input, observer);
  }

 private:
  const std::unique_ptr<TrainStep> standard_ = create_standard_train_step();
};

TEST(LossScalingTest, ATrainStepThatCannotRepeatIsRefused) {
  TinyTrainerOptions options = options_of(ScaledRun());
  for (const auto compute : {PrecisionConfig::BFLOAT16, PrecisionConfig::FLOAT16}) {
    options.trainer.precision.Clear();
    options.trainer.precision.set_compute(compute);
    TrainerParts parts = tiny_parts(options);
    parts.train_step = std::make_unique<OwnStep>();
    const absl::Status status = Trainer::create(options.trainer, std::move(parts)).status();
    if (compute == PrecisionConfig::BFLOAT16) {
      EXPECT_OK(status);
    } else {
      EXPECT_THAT(status, StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("cannot repeat")));
    }
  }
}

TEST(LossScalingTest, AnOverflowAtTheLowestScaleIsRefused) {
  ScaledRun run{.initial = 8, .min = 2, .limit = 1};
  ASSERT_OK(train(run));
  EXPECT_EQ(run.summary.progress.step, 0);
  EXPECT_EQ(run.summary.progress.skipped_steps, 10);
  EXPECT_THAT(run.repeats, Each(2)) << "a refused step leaves the scale as it was";
}

}  // namespace
}  // namespace millrace
