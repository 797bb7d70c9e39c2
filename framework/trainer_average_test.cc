// Tests of the trainer with a moving average of the parameters.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/types.h>

#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "base/status_matchers.h"
#include "checkpoint/state/train_state.h"
#include "framework/trainer.h"
#include "optim/moving_average.h"
#include "tests/fakes/fake_windowed_dataset.h"
#include "tests/fakes/recording_hook.h"
#include "tests/fakes/tiny_model.h"
#include "tests/fakes/tiny_trainer.h"

namespace millrace {
namespace {

using ::testing::HasSubstr;

constexpr double kDecay = 0.5;

class TrainerAverageTest : public testing::Test {
 protected:
  // Ten steps, and an average with constant decay.
  TinyTrainerOptions options(bool evaluate = true) {
    TinyTrainerOptions options;
    options.train.batches = 10;
    options.moving_average.emplace();
    options.moving_average->set_decay(kDecay);
    options.moving_average->set_warmup(false);
    options.moving_average->set_evaluate(evaluate);
    options.on_forward = [this](const Batch&) {
      if (trainer_->model().is_training()) return absl::OkStatus();
      evaluated_.push_back(parameters());
      return in_evaluation_ == nullptr ? absl::OkStatus() : in_evaluation_();
    };
    return options;
  }
  void make(const TinyTrainerOptions& options) { make(options, tiny_parts(options)); }
  void make(const TinyTrainerOptions& options, TrainerParts parts) {
    ASSERT_OK_AND_ASSIGN(trainer_, Trainer::create(options.trainer, std::move(parts)));
    ASSERT_OK(trainer_->add_hook(std::make_unique<RecordingHook>(
        &events_, [this](HookContext& context, absl::string_view event) {
          if (event == "start") average_ = parameters();
          if (event == "after_step") average_ += (1 - kDecay) * (parameters() - average_);
          return on_event_ == nullptr ? absl::OkStatus() : on_event_(context, event);
        })));
  }

  // Returns all parameters, concatenated.
  at::Tensor parameters() const {
    std::vector<at::Tensor> flat;
    for (const NamedParameter& parameter : trainer_->parameters()) {
      flat.push_back(parameter.value.detach().flatten());
    }
    return at::cat(flat);
  }
  // Returns the averages in checkpoints.
  at::Tensor saved_average() const {
    std::vector<at::Tensor> flat;
    const absl::StatusOr<TrainState> state = trainer_->capture();
    EXPECT_OK(state);
    for (const NamedParameter& tensor : state->optimizer_tensors()) {
      const bool average = tensor.name.ends_with("/average");
      if (average) flat.push_back(tensor.value.flatten().clone());
    }
    return at::cat(flat);
  }

  std::unique_ptr<Trainer> trainer_;
  std::vector<std::string> events_;
  RecordingHook::OnEvent on_event_;
  std::function<absl::Status()> in_evaluation_;
  at::Tensor average_;                 // computed by the formula during training
  std::vector<at::Tensor> evaluated_;  // parameters in each forward pass of an evaluation
};

TEST_F(TrainerAverageTest, EvaluationsTakeTheAverage) {
  make(options());
  // Before the first step the average equals the parameters.
  std::vector<at::Tensor> due;
  on_event_ = [&](HookContext& context, absl::string_view event) {
    if (event == "after_evaluate") due.push_back(average_.clone());
    if (event == "start" || event == "after_step") context.requests().evaluate();
    return absl::OkStatus();
  };
  ASSERT_OK(trainer_->train());
  ASSERT_EQ(due.size(), 11);
  ASSERT_EQ(evaluated_.size(), 2 * due.size());  // two batches each
  for (size_t i = 0; i < evaluated_.size(); ++i) {
    EXPECT_TRUE(evaluated_[i].allclose(due[i / 2], 1e-6, 1e-7)) << i;
  }
  EXPECT_TRUE(evaluated_.back().equal(saved_average()));
  EXPECT_FALSE(evaluated_.back().allclose(parameters(), 1e-4, 1e-4));
  const at::Tensor trained = parameters();
  ASSERT_OK(trainer_->evaluate("eval"));
  EXPECT_TRUE(evaluated_.back().equal(saved_average()));
  EXPECT_TRUE(parameters().equal(trained));
}

TEST_F(TrainerAverageTest, OrTheParametersByChoice) {
  make(options(/*evaluate=*/false));
  ASSERT_OK(trainer_->train());
  ASSERT_OK(trainer_->evaluate("eval"));
  EXPECT_TRUE(evaluated_.back().equal(parameters()));
  EXPECT_TRUE(saved_average().allclose(average_, 1e-6, 1e-7));
  EXPECT_FALSE(saved_average().equal(parameters()));
}

TEST_F(TrainerAverageTest, TrainingDoesNotNoticeIt) {
  std::vector<std::string> fingerprints;
  for (const bool average : {false, true}) {
    for (const bool evaluates : {false, true}) {
      TinyTrainerOptions tiny = options();
      tiny.train.sparse = 2;
      tiny.optimizer = "adam";
      if (!average) tiny.moving_average.reset();
      make(tiny);
      on_event_ = [evaluates](HookContext& context, absl::string_view event) {
        if (evaluates && event == "after_step") context.requests().evaluate();
        return absl::OkStatus();
      };
      ASSERT_OK(trainer_->train());
      fingerprints.push_back(fingerprint(trainer_->model()));
      EXPECT_EQ(fingerprints.back(), fingerprints.front());
    }
  }
}

TEST_F(TrainerAverageTest, AnEvaluationThatFailsGivesTheParametersBack) {
  const std::vector<std::function<absl::Status()>> failures = {
      [] { return absl::DataLossError("planted"); },
      []() -> absl::Status { throw std::runtime_error("planted"); }};
  for (const std::function<absl::Status()>& failure : failures) {
    make(options());
    ASSERT_OK(trainer_->train());
    const at::Tensor trained = parameters(), average = saved_average();
    in_evaluation_ = failure;
    EXPECT_THAT(trainer_->evaluate("eval").status().message(), HasSubstr("planted"));
    in_evaluation_ = nullptr;
    EXPECT_TRUE(evaluated_.back().equal(average));
    EXPECT_TRUE(parameters().equal(trained));
    EXPECT_TRUE(saved_average().equal(average));
  }
}

TEST_F(TrainerAverageTest, SoDoOneThatAHookFailsOrStops) {
  for (const bool stops : {false, true}) {
    make(options());
    ASSERT_OK(trainer_->train());
    const at::Tensor trained = parameters(), average = saved_average();
    bool seen = false;
    on_event_ = [&](HookContext& context, absl::string_view event) {
      if (event != "eval:after_data(0)") return absl::OkStatus();
      seen = true;
      if (!stops) return absl::DataLossError("planted");
      context.requests().stop("enough", Scope::kThisRank);
      return absl::OkStatus();
    };
    const absl::Status status = trainer_->evaluate("eval").status();
    on_event_ = nullptr;
    EXPECT_TRUE(seen);
    EXPECT_FALSE(status.ok());
    EXPECT_TRUE(parameters().equal(trained));
    EXPECT_TRUE(saved_average().equal(average));
  }
}

TEST_F(TrainerAverageTest, ARefusedStepLeavesItAsItIs) {
  TinyTrainerOptions tiny = options();
  tiny.train.nan_at = 5;
  make(tiny);
  ASSERT_OK_AND_ASSIGN(const Summary summary, trainer_->train());
  EXPECT_EQ(summary.progress.step, 9);
  EXPECT_EQ(summary.progress.skipped_steps, 1);
  EXPECT_TRUE(saved_average().allclose(average_, 1e-6, 1e-7));
}

TEST_F(TrainerAverageTest, WindowsAreScoredWithItBeforeTheyAreTrainedOn) {
  TinyTrainerOptions tiny = options();
  tiny.trainer.progressive_evaluation = true;
  TrainerParts parts = tiny_parts(tiny);
  parts.train_data =
      std::make_unique<FakeWindowedDataset>(tiny.train, std::vector<FakeWindow>{{2, 0}, {3, 0}});
  make(tiny, std::move(parts));
  std::vector<at::Tensor> due, trained;
  on_event_ = [&](HookContext&, absl::string_view event) {
    if (event == "before_window") {
      due.push_back(average_.clone());
      trained.push_back(parameters());
    }
    if (event == "after_evaluate") {
      EXPECT_TRUE(parameters().equal(trained.back()));
    }
    return absl::OkStatus();
  };
  ASSERT_OK_AND_ASSIGN(const Summary summary, trainer_->train());
  EXPECT_EQ(summary.eval.count("next_window"), 1u);
  ASSERT_EQ(due.size(), 2);
  ASSERT_EQ(evaluated_.size(), 5);
  EXPECT_TRUE(evaluated_[0].equal(due[0]));
  EXPECT_TRUE(evaluated_[4].allclose(due[1], 1e-6, 1e-7));
  EXPECT_FALSE(due[1].allclose(trained[1], 1e-4, 1e-4));
}

}  // namespace
}  // namespace millrace
