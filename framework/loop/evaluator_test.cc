#include "framework/loop/evaluator.h"

#include <ATen/ATen.h>
#include <ATen/CPUGeneratorImpl.h>
#include <c10/core/GradMode.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "base/status_matchers.h"
#include "framework/model/model.h"
#include "tests/fakes/fake_dataset.h"
#include "tests/fakes/fake_hook_context.h"
#include "tests/fakes/recording_hook.h"
#include "tests/fakes/tiny_model.h"
#include "tests/fakes/tiny_trainer.h"

namespace millrace {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Pair;

// A single rank, or one of several ranks with `others` batches more than this one.
class FakeRanks : public EvaluationRanks {
 public:
  absl::StatusOr<std::optional<Batch>> next(Dataset& data) override { return data.next(); }
  absl::StatusOr<std::optional<Window>> next_window(WindowedDataset& windows, bool) override {
    ASSIGN_OR_RETURN(const WindowState state, windows.next_window());
    if (state.kind != WindowState::kReady) return std::nullopt;
    return state.window;
  }
  void start(const Batch* next) override { has_next_ = next != nullptr; }
  absl::StatusOr<bool> finish() override {
    if (stop_after-- == 0) {
      stopped_ = true;
      return false;
    }
    return has_next_ || others-- > 0;
  }
  bool stopped() const override { return stopped_; }
  absl::Status merge(std::initializer_list<RankPart*> parts) override {
    auto& metrics = dynamic_cast<MetricSet&>(**parts.begin());
    return others_step.examples > 0 ? metrics.update(others_step) : absl::OkStatus();
  }

  int64_t others = 0;
  StepResult others_step;   // contribution of the other ranks to the metrics
  int64_t stop_after = -1;  // batches

 private:
  bool has_next_ = false;
  bool stopped_ = false;
};

class EvaluatorTest : public testing::Test {
 protected:
  EvaluatorTest() {
    TinyTrainerOptions options;
    options.train.sparse = 2;
    parts_ = tiny_parts(options);
    model().train();
    context_.phase_is = Phase::kEvaluate;
    options_.tasks = {"label"};
    options_.metrics = {"auc", "calibration"};
  }

  TinyModel& model() { return static_cast<TinyModel&>(*parts_.model); }

  absl::StatusOr<EvaluationResult> evaluate(FakeDatasetOptions data_options) {
    data_options.sparse = 2;
    FakeDataset data(data_options);
    ASSIGN_OR_RETURN(std::optional<EvaluationResult> result,
                     run_evaluation(*parts_.model, data, options_, progress_, context_, hooks_,
                                    ranks_, values_, clock_));
    if (!result.has_value()) return absl::CancelledError("stopped");
    return *std::move(result);
  }

  TrainerParts parts_;
  EvaluationOptions options_;
  Progress progress_ = {.step = 12, .examples = 96};
  FakeHookContext context_;
  HookList hooks_;
  ReportedValues values_;
  FakeRanks ranks_;
  FakeClock clock_;
};

// Records its calls and their conditions.
class CalledModel : public TinyModel {
 public:
  CalledModel() : TinyModel(2) {}
  void begin_evaluation(absl::string_view set) override {
    if (throws) throw std::runtime_error("planted");
    calls.push_back(absl::StrCat("evaluation ", set, is_training() ? " training" : "",
                                 at::GradMode::is_enabled() ? " gradients" : ""));
  }
  void begin_step(const Progress& progress, Phase phase) override {
    calls.push_back(absl::StrCat("step ", progress.step));
  }
  absl::StatusOr<ModelOutput> evaluate(const Batch& batch) override {
    calls.push_back("batch");
    return TinyModel::evaluate(batch);
  }
  std::vector<std::string> calls;
  bool throws = false;
};

TEST_F(EvaluatorTest, TellsTheModelWhichSetBegins) {
  const auto called = std::make_shared<CalledModel>();
  called->train();
  for (const char* set : {"eval", "late"}) {
    FakeDataset data(FakeDatasetOptions{.batches = 1});
    options_.name = set;
    ASSERT_OK(run_evaluation(*called, data, options_, progress_, context_, hooks_, ranks_, values_,
                             clock_)
                  .status());
  }
  EXPECT_THAT(called->calls, ElementsAre("evaluation eval", "step 12", "batch", "evaluation late",
                                         "step 12", "batch"));
  EXPECT_TRUE(called->is_training());
}

TEST(EvaluationOfUnknownIdsTest, HasTheShareOfLookupsWithoutARow) {
  TinyTrainerOptions options;
  options.train = {.sparse = 2, .ids = 20};
  options.eval = {.batches = 2, .sparse = 2, .ids = 20};  // the first batches of training
  options.trainer.max_steps = 4;
  const auto trainer = tiny_trainer(options);
  ASSERT_OK_AND_ASSIGN(const EvaluationResult before, trainer->evaluate("eval"));
  EXPECT_TRUE(before.unknown_shares.empty()) << "no table has rows yet";
  ASSERT_OK(trainer->train());
  ASSERT_OK_AND_ASSIGN(const EvaluationResult known, trainer->evaluate("eval"));
  EXPECT_THAT(known.unknown_shares, ElementsAre(Pair("items", 0)));
  FakeDataset others({.batches = 2, .sparse = 2, .ids = 1000000});
  ASSERT_OK_AND_ASSIGN(const EvaluationResult unknown,
                       trainer->evaluate(others, EvaluationOptions()));
  EXPECT_THAT(unknown.unknown_shares, ElementsAre(Pair("items", testing::Gt(0.9))));
  EXPECT_EQ(trainer->summary().unknown_shares.at("eval"), unknown.unknown_shares);
}

TEST_F(EvaluatorTest, AnExceptionOfTheModelBeforeTheSetIsAnError) {
  const auto called = std::make_shared<CalledModel>();
  called->throws = true;
  FakeDataset data(FakeDatasetOptions{.batches = 1});
  EXPECT_THAT(
      run_evaluation(*called, data, options_, progress_, context_, hooks_, ranks_, values_, clock_)
          .status(),
      StatusIs(absl::StatusCode::kInternal,
               AllOf(HasSubstr("evaluating \"eval\""), HasSubstr("begin_evaluation"),
                     HasSubstr("planted"))));
}

TEST_F(EvaluatorTest, GoesOnWithEmptyBatchesWhileOthersHaveData) {
  ASSERT_OK_AND_ASSIGN(const EvaluationResult alone, evaluate({.batches = 2}));
  int64_t forwards = 0;
  model().on_forward = [&](const Batch& batch) {
    EXPECT_GT(batch.size, 0) << "the model sees no empty batch";
    ++forwards;
    return absl::OkStatus();
  };
  ranks_.others = 3;
  ASSERT_OK_AND_ASSIGN(const EvaluationResult result, evaluate({.batches = 2}));
  EXPECT_EQ(forwards, 2);
  EXPECT_EQ(result.batches, 5);
  EXPECT_EQ(result.examples, alone.examples);
  EXPECT_EQ(result.metrics, alone.metrics);
}

TEST_F(EvaluatorTest, ARankWithoutDataIsNoError) {
  ranks_.others = 1;
  ranks_.others_step.examples = 8;
  ranks_.others_step.loss = at::zeros({});
  ranks_.others_step.predictions = at::full({8, 1}, 0.5);
  ranks_.others_step.labels = at::zeros({8, 1});
  ASSERT_OK_AND_ASSIGN(const EvaluationResult result, evaluate({.batches = 0}));
  EXPECT_EQ(result.examples, 8);
}

TEST_F(EvaluatorTest, StopsWhenARankAsksToStop) {
  int64_t forwards = 0;
  model().on_forward = [&](const Batch&) {
    ++forwards;
    return absl::OkStatus();
  };
  ranks_.stop_after = 2;
  EXPECT_THAT(evaluate({.batches = 5}), StatusIs(absl::StatusCode::kCancelled));
  EXPECT_EQ(forwards, 2);
}

TEST_F(EvaluatorTest, Result) {
  model().on_forward = [&](const Batch&) {
    clock_.advance(absl::Seconds(2));
    return absl::OkStatus();
  };
  values_.add("from_a_hook", 4, Reduction::kSum);
  ASSERT_OK_AND_ASSIGN(const EvaluationResult result, evaluate({.batches = 3, .batch_size = 8}));
  EXPECT_EQ(result.set, "eval");
  EXPECT_TRUE(result.progress == progress_);
  EXPECT_EQ(result.examples, 24);
  EXPECT_EQ(result.batches, 3);
  EXPECT_EQ(result.elapsed, absl::Seconds(6));
  EXPECT_EQ(result.metrics.size(), 3);
  EXPECT_GT(result.metrics.at("auc"), 0);
  EXPECT_EQ(result.values.at("from_a_hook"), 4);
  EXPECT_EQ(result.values.count("mean_logit"), 1);
}

TEST_F(EvaluatorTest, TheNumberOfBatchesDoesNotMatter) {
  ASSERT_OK_AND_ASSIGN(const EvaluationResult one, evaluate({.batches = 1, .batch_size = 24}));
  ASSERT_OK_AND_ASSIGN(const EvaluationResult six, evaluate({.batches = 6, .batch_size = 4}));
  EXPECT_NEAR(one.metrics.at("loss"), six.metrics.at("loss"), 1e-6);
  EXPECT_EQ(one.metrics.at("auc"), six.metrics.at("auc"));
}

TEST_F(EvaluatorTest, AtMostSoManySteps) {
  options_.limits.max_steps = 2;
  ASSERT_OK_AND_ASSIGN(const EvaluationResult result, evaluate({.batches = 5}));
  EXPECT_EQ(result.batches, 2);
}

TEST_F(EvaluatorTest, EventsOfEachBatch) {
  std::vector<std::string> events;
  ASSERT_OK(hooks_.add(std::make_unique<RecordingHook>(&events)));
  ASSERT_OK(evaluate({.batches = 1}));
  EXPECT_THAT(events, ElementsAre("eval:before_step", "eval:after_data(0)", "eval:after_step"));
}

TEST_F(EvaluatorTest, LeavesEverythingAsItWas) {
  // A submodule that its owner froze.
  const std::shared_ptr<torch::nn::Module> tables = model().named_children()["tables"];
  tables->eval();
  at::Generator generator = at::detail::getDefaultCPUGenerator();
  const at::Tensor random = generator.get_state();
  const std::string before = fingerprint(model());
  model().on_forward = [&](const Batch&) {
    EXPECT_FALSE(model().is_training());
    EXPECT_FALSE(c10::GradMode::is_enabled());
    at::rand({3});
    return absl::OkStatus();
  };
  ASSERT_OK(evaluate({.batches = 3, .ids = 1000000}));
  EXPECT_TRUE(model().is_training());
  EXPECT_FALSE(tables->is_training());
  EXPECT_TRUE(c10::GradMode::is_enabled());
  EXPECT_TRUE(at::equal(generator.get_state(), random));
  EXPECT_EQ(fingerprint(model()), before);
}

TEST_F(EvaluatorTest, LeavesEverythingAsItWasAfterAFailureToo) {
  const std::string before = fingerprint(model());
  model().on_forward = [&](const Batch&) -> absl::Status { throw std::runtime_error("boom"); };
  EXPECT_THAT(evaluate({}), StatusIs(absl::StatusCode::kInternal,
                                     AllOf(HasSubstr("evaluating \"eval\""), HasSubstr("boom"))));
  EXPECT_TRUE(model().is_training());
  EXPECT_TRUE(c10::GradMode::is_enabled());
  EXPECT_EQ(fingerprint(model()), before);
}

TEST_F(EvaluatorTest, Errors) {
  EXPECT_THAT(evaluate({.batches = 0}),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       AllOf(HasSubstr("\"eval\""), HasSubstr("no examples"))));
  options_.no_examples = "its split leaves nothing";
  EXPECT_THAT(evaluate({.batches = 0}), StatusIs(absl::StatusCode::kInvalidArgument,
                                                 "evaluating \"eval\": its split leaves nothing"));
  options_.consumer = [](const Batch&, const StepResult&) { return absl::OkStatus(); };
  EXPECT_THAT(evaluate({.batches = 0}), StatusIs(absl::StatusCode::kInvalidArgument,
                                                 "predicting \"eval\": its split leaves nothing"));
  options_.consumer = nullptr;
  EXPECT_THAT(evaluate({.fail_at = 1}),
              StatusIs(absl::StatusCode::kDataLoss,
                       AllOf(HasSubstr("evaluating \"eval\""), HasSubstr("damaged"))));
  model().on_output = [](ModelOutput& output) { output.predictions = at::zeros({3, 1}); };
  EXPECT_THAT(evaluate({}), StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("predictions")));
  model().on_output = [](ModelOutput& output) { output.loss = at::zeros({8}); };
  EXPECT_THAT(evaluate({}), StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("loss")));
  model().on_output = nullptr;
  options_.tasks = {"click", "buy"};
  EXPECT_THAT(evaluate({}), StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("[8, 2]")));
  options_.tasks = {"label"};
  options_.metrics = {"auk"};
  EXPECT_THAT(evaluate({}), StatusIs(absl::StatusCode::kNotFound, HasSubstr("\"eval\"")));
}

TEST_F(EvaluatorTest, AHooksErrorEndsIt) {
  std::vector<std::string> events;
  ASSERT_OK(hooks_.add(
      std::make_unique<RecordingHook>(&events, [](HookContext&, absl::string_view event) {
        return event == "eval:after_data(0)" ? absl::AbortedError("planted") : absl::OkStatus();
      })));
  EXPECT_THAT(evaluate({}),
              StatusIs(absl::StatusCode::kAborted, HasSubstr("hook recording in after_data")));
  EXPECT_THAT(events, ElementsAre("eval:before_step", "eval:after_data(0)"));
}

// Covers batches in which no example has the second label.
TEST_F(EvaluatorTest, LossesOfTasksAreOverTheirTargetsInAllBatches) {
  model().counts_targets = true;
  options_.tasks = {"click", "buy"};
  ASSERT_OK_AND_ASSIGN(const EvaluationResult one,
                       evaluate({.batches = 1, .batch_size = 32, .two_labels = true}));
  ASSERT_OK_AND_ASSIGN(const EvaluationResult many,
                       evaluate({.batches = 8, .batch_size = 4, .two_labels = true}));
  EXPECT_EQ(one.examples, 32);
  EXPECT_EQ(one.metrics.count("buy/loss"), 1u);
  EXPECT_EQ(one.metrics.count("buy/auc"), 1u);
  for (const auto& [name, value] : one.metrics) {
    EXPECT_NEAR(many.metrics.at(name), value, 1e-6) << name;
  }
  EXPECT_NEAR(one.metrics.at("loss"), one.metrics.at("click/loss") + one.metrics.at("buy/loss"),
              1e-9);
}

TEST_F(EvaluatorTest, LossIsOverTargetsWhereThereAreSome) {
  ASSERT_OK_AND_ASSIGN(const EvaluationResult examples, evaluate({.batches = 2}));
  model().gives_targets = true;  // half the examples
  ASSERT_OK_AND_ASSIGN(const EvaluationResult targets, evaluate({.batches = 2}));
  EXPECT_NEAR(targets.metrics.at("loss"), 2 * examples.metrics.at("loss"), 1e-6);
}

// Covers batches of one example, of which some have no target.
TEST_F(EvaluatorTest, LossOverTargetsDoesNotDependOnBatches) {
  int64_t without_targets = 0;
  model().on_output = [&](ModelOutput& output) {
    const at::Tensor mask = (output.predictions > 0.5).to(at::kFloat);
    output.loss = (output.predictions * mask).sum();
    output.targets = mask.sum();
    if (output.targets.item<float>() == 0) ++without_targets;
  };
  ASSERT_OK_AND_ASSIGN(const EvaluationResult one, evaluate({.batches = 1, .batch_size = 32}));
  ASSERT_OK_AND_ASSIGN(const EvaluationResult many, evaluate({.batches = 32, .batch_size = 1}));
  EXPECT_GT(without_targets, 0);
  EXPECT_NEAR(many.metrics.at("loss"), one.metrics.at("loss"), 1e-6);
}

}  // namespace
}  // namespace millrace
