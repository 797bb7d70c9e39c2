#include "framework/trainer.h"

#include <ATen/ATen.h>
#include <ATen/CPUGeneratorImpl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <stdexcept>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/log.h"
#include "base/status_matchers.h"
#include "framework/model/model.h"
#include "tests/fakes/event_lists.h"
#include "tests/fakes/hanging_dataset.h"
#include "tests/fakes/recording_hook.h"
#include "tests/fakes/tiny_model.h"
#include "tests/fakes/tiny_trainer.h"

namespace millrace {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::ElementsAreArray;
using ::testing::HasSubstr;
using ::testing::Key;
using ::testing::Not;

class TrainerTest : public testing::Test {
 protected:
  // Returns a trainer with one recording hook.
  std::unique_ptr<Trainer> trainer(TinyTrainerOptions options,
                                   RecordingHook::OnEvent on_event = nullptr) {
    std::unique_ptr<Trainer> trainer = tiny_trainer(options);
    EXPECT_OK(trainer->add_hook(std::make_unique<RecordingHook>(&events_, std::move(on_event))));
    return trainer;
  }

  static TinyTrainerOptions two_steps() {
    TinyTrainerOptions options;
    options.train.batches = 2;
    return options;
  }

  Events events_;
};

TEST_F(TrainerTest, OneEpochFiresEveryEventInOrder) {
  auto trainer = this->trainer(two_steps());
  ASSERT_OK_AND_ASSIGN(const Summary summary, trainer->train());
  EXPECT_THAT(events_, ElementsAreArray(
                           join({{"start", "before_epoch"},
                                 kStep,
                                 kStep,
                                 {"out_of_data(epoch)", "after_epoch", "after_report", "end"}})));
  EXPECT_EQ(summary.outcome, Outcome::kCompleted);
  EXPECT_EQ(summary.progress.step, 2);
  EXPECT_EQ(summary.progress.epoch, 1);
  EXPECT_EQ(summary.progress.examples, 16);
}

TEST_F(TrainerTest, SeveralEpochs) {
  TinyTrainerOptions options = two_steps();
  options.trainer.max_epochs = 2;
  auto trainer = this->trainer(options);
  ASSERT_OK(trainer->train());
  const Events epoch =
      join({{"before_epoch"}, kStep, kStep, {"out_of_data(epoch)", "after_epoch"}});
  EXPECT_THAT(events_, ElementsAreArray(join({{"start"}, epoch, epoch, {"after_report", "end"}})));
}

TEST_F(TrainerTest, MicroBatchesAreOneStep) {
  TinyTrainerOptions options;
  options.train.batches = 3;
  options.trainer.micro_batches = 2;
  auto trainer = this->trainer(options);
  ASSERT_OK_AND_ASSIGN(const Summary summary, trainer->train());
  EXPECT_THAT(
      events_,
      ElementsAreArray(
          join({{"start", "before_epoch"},
                {"before_step", "after_data(0)", "after_data(1)", "after_backward", "after_step"},
                kStep,
                {"out_of_data(epoch)", "after_epoch", "after_report", "end"}})));
  EXPECT_EQ(summary.progress.step, 2);
  EXPECT_EQ(summary.progress.examples, 24);
}

TEST_F(TrainerTest, ReportsFireAtTheirCadence) {
  TinyTrainerOptions options = two_steps();
  options.trainer.report = {.every_steps = 1};
  auto trainer = this->trainer(options);
  ASSERT_OK(trainer->train());
  EXPECT_THAT(events_, ElementsAreArray(
                           join({{"start", "before_epoch"},
                                 kStep,
                                 {"after_report"},
                                 kStep,
                                 {"after_report", "out_of_data(epoch)", "after_epoch", "end"}})));
}

TEST_F(TrainerTest, RequestedEvaluationIsServedAfterTheStep) {
  TinyTrainerOptions options = two_steps();
  options.trainer.report = {};
  auto trainer = this->trainer(options, [](HookContext& context, absl::string_view event) {
    if (event == "after_step" && context.progress().step == 1) context.requests().evaluate("eval");
    return absl::OkStatus();
  });
  ASSERT_OK_AND_ASSIGN(const Summary summary, trainer->train());
  EXPECT_THAT(events_, ElementsAreArray(join({{"start", "before_epoch"},
                                              kStep,
                                              kEvalStep,
                                              kEvalStep,
                                              {"after_evaluate"},
                                              kStep,
                                              {"out_of_data(epoch)", "after_epoch", "end"}})));
  EXPECT_EQ(summary.eval.count("eval"), 1);
}

TEST_F(TrainerTest, EvaluationOnItsOwn) {
  auto trainer = this->trainer(two_steps());
  ASSERT_OK_AND_ASSIGN(const EvaluationResult result, trainer->evaluate("eval"));
  EXPECT_THAT(events_, ElementsAreArray(join({{"eval:start", "eval:before_epoch"},
                                              kEvalStep,
                                              kEvalStep,
                                              {"eval:out_of_data(epoch)", "eval:after_epoch",
                                               "eval:after_evaluate", "eval:end"}})));
  EXPECT_EQ(result.examples, 16);
  EXPECT_THAT(trainer->evaluate("evil"),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("did you mean \"eval\"?")));
}

TEST_F(TrainerTest, CallsHaveLimitsOfTheirOwn) {
  TinyTrainerOptions options;
  options.train.batches = 5;
  options.eval.batches = 3;
  options.trainer.max_epochs = 2;
  const auto trainer = tiny_trainer(options);
  ASSERT_OK_AND_ASSIGN(Summary summary, trainer->train({.max_steps = 3}));
  EXPECT_EQ(summary.progress.step, 3);
  EXPECT_EQ(summary.outcome, Outcome::kCompleted);
  EXPECT_EQ(trainer->finished(), std::nullopt) << "the job has more";
  ASSERT_OK_AND_ASSIGN(summary, trainer->train({.max_epochs = 1}));
  EXPECT_EQ(summary.progress.step, 5) << "the rest of the epoch";
  EXPECT_EQ(summary.progress.epoch, 1);
  ASSERT_OK_AND_ASSIGN(summary, trainer->train({.max_steps = 100}));
  EXPECT_EQ(summary.progress.step, 10);
  EXPECT_EQ(trainer->finished(), "completed");
  EXPECT_THAT(trainer->train({.max_windows = -1}), StatusIs(absl::StatusCode::kInvalidArgument));

  const auto same = tiny_trainer(options);
  ASSERT_OK(same->train());
  EXPECT_EQ(fingerprint(same->model()), fingerprint(trainer->model()));
  ASSERT_OK_AND_ASSIGN(const EvaluationResult two, trainer->evaluate("eval", {.max_steps = 2}));
  EXPECT_EQ(two.batches, 2);
  ASSERT_OK_AND_ASSIGN(const EvaluationResult all, trainer->evaluate("eval"));
  EXPECT_EQ(all.batches, 3);
}

TEST_F(TrainerTest, PredictsAsOftenAsAsked) {
  auto trainer = this->trainer(two_steps());
  std::vector<at::Tensor> predictions;
  const auto collect = [&](const Batch& batch, const StepResult& result) {
    EXPECT_EQ(result.predictions.size(0), batch.size);
    predictions.push_back(result.predictions.clone());
    return absl::OkStatus();
  };
  for (int time = 0; time < 2; ++time) {
    ASSERT_OK_AND_ASSIGN(const EvaluationResult result, trainer->predict("eval", collect));
    EXPECT_EQ(result.examples, 16);
    EXPECT_THAT(result.metrics, testing::IsEmpty());
  }
  ASSERT_EQ(predictions.size(), 4u);
  EXPECT_TRUE(predictions[0].equal(predictions[2]));
  EXPECT_TRUE(predictions[1].equal(predictions[3]));
  EXPECT_THAT(events_, Not(testing::Contains("eval:after_evaluate")));
  ASSERT_OK(trainer->train());
  ASSERT_OK(trainer->predict("eval", collect, {.max_steps = 1}));
  ASSERT_EQ(predictions.size(), 5u);
  EXPECT_FALSE(predictions[4].equal(predictions[0])) << "training lies between";
  EXPECT_THAT(trainer->predict("evil", collect), StatusIs(absl::StatusCode::kNotFound));
  const auto refuse = [](const Batch&, const StepResult&) { return absl::DataLossError("full"); };
  EXPECT_THAT(trainer->predict("eval", refuse),
              StatusIs(absl::StatusCode::kDataLoss, HasSubstr("predicting \"eval\": full")));
}

TEST_F(TrainerTest, AnAnomalyIsFoundWhereItBegan) {
  TinyTrainerOptions options = two_steps();
  options.trainer.detect_anomaly = true;
  std::string log;
  for (const bool detects : {true, false}) {
    options.trainer.detect_anomaly = detects;
    TrainerParts parts = tiny_parts(options);
    static_cast<TinyModel&>(*parts.model).on_output = [](ModelOutput& output) {
      output.loss = (output.loss - output.loss.detach()).sqrt();  // an infinite gradient
    };
    ASSERT_OK_AND_ASSIGN(auto trainer, Trainer::create(options.trainer, std::move(parts)));
    log.clear();
    set_log_sink([&log](LogSeverity, absl::string_view text) { absl::StrAppend(&log, text); });
    trainer->train().status().IgnoreError();
    set_log_sink({});
    EXPECT_EQ(absl::StrContains(log, "aten::div of SqrtBackward0, after the parameter "), detects)
        << log;
  }
}

TEST_F(TrainerTest, ASetHasMetricsOfItsOwn) {
  TinyTrainerOptions options = two_steps();
  TrainerParts parts = tiny_parts(options);
  parts.evaluation_sets[0].metrics = {"mean"};
  parts.evaluation_sets.push_back({"late", std::make_unique<FakeDataset>(options.eval)});
  ASSERT_OK_AND_ASSIGN(auto trainer, Trainer::create(options.trainer, std::move(parts)));
  ASSERT_OK_AND_ASSIGN(const Summary summary, trainer->train_and_evaluate());
  EXPECT_THAT(summary.eval.at("eval"), ElementsAre(Key("loss"), Key("mean")));
  EXPECT_EQ(summary.eval.at("late").count("auc"), 1u);
  EXPECT_EQ(summary.train.count("auc"), 1u);
  ASSERT_OK_AND_ASSIGN(const EvaluationResult alone, trainer->evaluate("eval"));
  EXPECT_THAT(alone.metrics, ElementsAre(Key("loss"), Key("mean")));
}

TEST_F(TrainerTest, ReportsAndEvaluationsHaveSlices) {
  TinyTrainerOptions options;
  options.train.sparse = 1;
  options.eval.sparse = 1;
  options.trainer.slices = {{.name = "s", .feature = 0, .max_ids = 2, .metrics = {"mean"}}};
  options.trainer.max_epochs = 1;
  const auto trainer = tiny_trainer(options);
  ASSERT_OK(trainer->train().status());
  const auto has_slices = [](const std::map<std::string, double>& metrics) {
    return std::any_of(metrics.begin(), metrics.end(), [](const auto& metric) {
      return absl::StartsWith(metric.first, "s=") && absl::EndsWith(metric.first, "/mean");
    });
  };
  EXPECT_TRUE(has_slices(trainer->summary().train));
  ASSERT_OK_AND_ASSIGN(const EvaluationResult result, trainer->evaluate("eval"));
  EXPECT_TRUE(has_slices(result.metrics));
}

TEST_F(TrainerTest, AnUnknownMetricOfASetIsRefused) {
  TrainerParts parts = tiny_parts(two_steps());
  parts.evaluation_sets[0].metrics = {"acu"};
  EXPECT_THAT(Trainer::create(two_steps().trainer, std::move(parts)),
              StatusIs(absl::StatusCode::kNotFound,
                       AllOf(HasSubstr("evaluation set \"eval\""), HasSubstr("\"auc\""))));
}

TEST_F(TrainerTest, TrainAndEvaluateEvaluatesOnceAtTheEnd) {
  TinyTrainerOptions options = two_steps();
  options.trainer.report = {};
  auto trainer = this->trainer(options);
  ASSERT_OK(trainer->train_and_evaluate());
  EXPECT_THAT(events_, ElementsAreArray(join({{"start", "before_epoch"},
                                              kStep,
                                              kStep,
                                              {"out_of_data(epoch)", "after_epoch"},
                                              kEvalStep,
                                              kEvalStep,
                                              {"after_evaluate", "end"}})));
}

TEST_F(TrainerTest, CommonStopIsServedAfterTheStepAndClosesNoScope) {
  TinyTrainerOptions options = two_steps();
  options.trainer.report = {};
  auto trainer = this->trainer(options, [](HookContext& context, absl::string_view event) {
    if (event == "after_step") context.requests().stop("enough");
    return absl::OkStatus();
  });
  ASSERT_OK_AND_ASSIGN(const Summary summary, trainer->train());
  EXPECT_THAT(events_, ElementsAreArray(join({{"start", "before_epoch"}, kStep, {"end"}})));
  EXPECT_EQ(summary.outcome, Outcome::kStopped);
  EXPECT_EQ(summary.stop_reason, "enough");
  EXPECT_FALSE(summary.stopped_by_rank);
}

TEST_F(TrainerTest, AStopThatAnEvaluationLedToComesBeforeAnotherStep) {
  auto trainer = this->trainer(two_steps(), [](HookContext& context, absl::string_view event) {
    if (event == "after_step") context.requests().evaluate();
    if (event == "after_evaluate") context.requests().stop("good enough");
    return absl::OkStatus();
  });
  ASSERT_OK_AND_ASSIGN(const Summary summary, trainer->train());
  EXPECT_EQ(summary.progress.step, 1);
  EXPECT_EQ(summary.stop_reason, "good enough");
}

TEST_F(TrainerTest, RequestsOutsideARunAreForgotten) {
  TinyTrainerOptions options = two_steps();
  options.trainer.max_epochs = 2;
  auto trainer = this->trainer(options, [](HookContext& context, absl::string_view event) {
    if (event == "end" || event == "eval:start") {
      context.requests().stop("too late");
      context.requests().evaluate_at_end();
    }
    if (event == "end") context.requests().stop("too late", Scope::kThisRank);
    return absl::OkStatus();
  });
  ASSERT_OK(trainer->evaluate("eval"));
  ASSERT_OK(trainer->train());
  ASSERT_OK(trainer->train());
  EXPECT_EQ(trainer->progress().epoch, 2);
  EXPECT_EQ(trainer->summary().outcome, Outcome::kCompleted);
  EXPECT_TRUE(trainer->summary().eval.empty());
}

TEST_F(TrainerTest, StopOfOneRankIsServedAfterTheNextStep) {
  TinyTrainerOptions options;
  options.trainer.report = {};
  auto trainer = this->trainer(options, [](HookContext& context, absl::string_view event) {
    if (event == "after_step") context.requests().stop("a signal", Scope::kThisRank);
    return absl::OkStatus();
  });
  ASSERT_OK_AND_ASSIGN(const Summary summary, trainer->train());
  EXPECT_EQ(summary.progress.step, 2);
  EXPECT_EQ(summary.outcome, Outcome::kStopped);
  EXPECT_TRUE(summary.stopped_by_rank);
}

TEST_F(TrainerTest, TrainingGoesOnWhereAStopLeftIt) {
  TinyTrainerOptions options;
  options.train.sparse = 2;
  options.optimizer = "adam";
  const auto run = [&](bool stop) {
    std::unique_ptr<Trainer> trainer = tiny_trainer(options);
    Events events;
    EXPECT_OK(trainer->add_hook(std::make_unique<RecordingHook>(
        &events, [&](HookContext& context, absl::string_view event) {
          if (stop && event == "after_step" && context.progress().step == 2) {
            context.requests().stop("pause");
          }
          return absl::OkStatus();
        })));
    EXPECT_OK(trainer->train());
    if (stop) {
      EXPECT_EQ(trainer->progress().step, 2);
      EXPECT_OK(trainer->train());
    }
    EXPECT_EQ(trainer->progress().step, 4);
    EXPECT_EQ(trainer->progress().epoch, 1);
    return fingerprint(trainer->model());
  };
  EXPECT_EQ(run(true), run(false));
}

TEST_F(TrainerTest, LimitsAreTotals) {
  TinyTrainerOptions options;
  options.trainer.max_steps = 3;
  options.trainer.max_epochs = 0;
  options.train.batches = 2;
  options.trainer.report = {};
  auto trainer = this->trainer(options);
  ASSERT_OK_AND_ASSIGN(const Summary summary, trainer->train());
  EXPECT_EQ(summary.progress.step, 3);
  EXPECT_EQ(summary.progress.epoch, 1);
  EXPECT_EQ(events_.back(), "end");
  EXPECT_EQ(events_[events_.size() - 2], "after_step");
  ASSERT_OK_AND_ASSIGN(const Summary again, trainer->train());
  EXPECT_EQ(again.progress.step, 3);
}

TEST_F(TrainerTest, ALimitThatFallsOnTheEndOfTheDataCompletesTheEpoch) {
  TinyTrainerOptions options = two_steps();
  options.trainer.max_steps = 2;
  auto trainer = this->trainer(options);
  ASSERT_OK_AND_ASSIGN(const Summary summary, trainer->train());
  EXPECT_EQ(summary.progress.epoch, 1);
}

TEST_F(TrainerTest, StepsPerEpochCompleteAnEpochWithoutEndOfData) {
  TinyTrainerOptions options;
  options.trainer.max_steps_per_epoch = 1;
  options.trainer.max_epochs = 2;
  options.trainer.report = {};
  auto trainer = this->trainer(options);
  ASSERT_OK(trainer->train());
  const Events epoch = join({{"before_epoch"}, kStep, {"after_epoch"}});
  EXPECT_THAT(events_, ElementsAreArray(join({{"start"}, epoch, epoch, {"end"}})));
}

TEST_F(TrainerTest, MaxElapsedCountsTrainingTime) {
  FakeClock clock;
  TinyTrainerOptions options;
  options.clock = &clock;
  options.trainer.max_elapsed = absl::Seconds(20);
  options.on_forward = [&](const Batch&) {
    clock.advance(absl::Seconds(10));
    return absl::OkStatus();
  };
  auto trainer = this->trainer(options);
  ASSERT_OK_AND_ASSIGN(const Summary summary, trainer->train());
  EXPECT_EQ(summary.progress.step, 2);
  EXPECT_EQ(summary.progress.elapsed, absl::Seconds(20));
}

TEST_F(TrainerTest, MaxElapsedEndsAWaitForData) {
  FakeClock clock;  // stands still: steps of any duration leave the time for the wait
  for (const int64_t batches : {0, 2}) {
    TrainerParts parts = tiny_parts();
    parts.clock = &clock;
    parts.train_data = std::make_unique<HangingDataset>(batches);
    TrainerOptions options;
    options.max_elapsed = absl::Seconds(1);
    ASSERT_OK_AND_ASSIGN(const auto trainer, Trainer::create(options, std::move(parts)));
    ASSERT_OK_AND_ASSIGN(const Summary summary, trainer->train());
    EXPECT_EQ(summary.outcome, Outcome::kCompleted);
    EXPECT_EQ(summary.progress.step, batches);
    EXPECT_EQ(summary.progress.epoch, 0) << "the epoch has more";
    EXPECT_EQ(summary.progress.elapsed, absl::Seconds(1));
  }
}

TEST_F(TrainerTest, RefusedStepChangesNothing) {
  TinyTrainerOptions options = two_steps();
  options.train.sparse = 1;
  options.train.nan_at = 0;
  options.train.batches = 1;
  options.trainer.report = {};
  auto trainer = this->trainer(options);
  const std::string before = fingerprint(trainer->model());
  ASSERT_OK_AND_ASSIGN(const Summary summary, trainer->train());
  EXPECT_THAT(events_,
              ElementsAre("start", "before_epoch", "before_step", "after_data(0)",
                          "after_step(refused)", "out_of_data(epoch)", "after_epoch", "end"));
  EXPECT_EQ(fingerprint(trainer->model()), before);
  EXPECT_EQ(summary.progress.step, 0);
  EXPECT_EQ(summary.progress.skipped_steps, 1);
  EXPECT_EQ(summary.progress.skipped_examples, 8);
}

TEST_F(TrainerTest, ThrowingModelEndsTheRunWithAStatus) {
  TinyTrainerOptions options = two_steps();
  options.on_forward = [](const Batch&) -> absl::Status { throw std::runtime_error("boom"); };
  auto trainer = this->trainer(options);
  EXPECT_THAT(trainer->train(), StatusIs(absl::StatusCode::kInternal, HasSubstr("boom")));
  EXPECT_THAT(events_, ElementsAre("start", "before_epoch", "before_step", "after_data(0)", "end"));
  EXPECT_EQ(trainer->summary().outcome, Outcome::kFailed);
  EXPECT_THAT(trainer->summary().error, HasSubstr("step 1"));
}

TEST_F(TrainerTest, FailingModelLeavesNoTentativeRows) {
  TinyTrainerOptions options = two_steps();
  options.train.sparse = 1;
  options.trainer.micro_batches = 2;
  int calls = 0;
  options.on_forward = [&](const Batch&) {
    return ++calls == 2 ? absl::DataLossError("second micro-batch") : absl::OkStatus();
  };
  auto trainer = this->trainer(options);
  const std::string before = fingerprint(trainer->model());
  EXPECT_THAT(trainer->train(), StatusIs(absl::StatusCode::kDataLoss));
  EXPECT_EQ(fingerprint(trainer->model()), before);
}

TEST_F(TrainerTest, DamagedDataEndsTheRun) {
  TinyTrainerOptions options = two_steps();
  options.train.fail_at = 1;
  auto trainer = this->trainer(options);
  EXPECT_THAT(trainer->train(), StatusIs(absl::StatusCode::kDataLoss, HasSubstr("damaged")));
  // The data of the next step is read before a step begins.
  EXPECT_THAT(events_, ElementsAre("start", "before_epoch", "end"));
}

// A hook fails at each event in turn: the run ends with the named error, and `end` follows unless
// `start` itself failed.
TEST_F(TrainerTest, FailingHookAtEachEvent) {
  const Events all = join({{"start", "before_epoch"},
                           kStep,
                           {"after_report"},
                           kEvalStep,
                           {"after_evaluate", "out_of_data(epoch)", "after_epoch", "end"}});
  for (const std::string& failing : all) {
    TinyTrainerOptions options;
    options.train.batches = 1;
    options.eval.batches = 1;
    options.trainer.report = {.every_steps = 1};
    events_.clear();
    std::unique_ptr<Trainer> trainer = tiny_trainer(options);
    Events first, last;
    ASSERT_OK(trainer->add_hook(std::make_unique<RecordingHook>(&first, nullptr, "first")));
    ASSERT_OK(trainer->add_hook(std::make_unique<RecordingHook>(
        &events_, [&](HookContext& context, absl::string_view event) {
          if (event == "after_step") context.requests().evaluate();
          return event == failing ? absl::AbortedError("planted") : absl::OkStatus();
        })));
    ASSERT_OK(trainer->add_hook(std::make_unique<RecordingHook>(&last, nullptr, "last")));
    EXPECT_THAT(trainer->train(),
                StatusIs(absl::StatusCode::kAborted, HasSubstr("hook recording in")))
        << failing;
    Events expected;
    for (const std::string& event : all) {
      expected.push_back(event);
      if (event == failing) break;
    }
    if (failing == "start") {
      EXPECT_EQ(last, Events{});
      EXPECT_THAT(first, ElementsAre("start", "end"));
    } else if (failing != "end") {
      expected.push_back("end");
    }
    EXPECT_EQ(events_, expected) << failing;
    EXPECT_EQ(std::count(first.begin(), first.end(), "end"), 1) << failing;
  }
}

TEST_F(TrainerTest, HooksOpenForwardAndCloseBackward) {
  TinyTrainerOptions options;
  options.train.batches = 1;
  options.trainer.report = {};
  std::unique_ptr<Trainer> trainer = tiny_trainer(options);
  for (const char* name : {"a", "b"}) {
    ASSERT_OK(trainer->add_hook(std::make_unique<RecordingHook>(&events_, nullptr, name, true)));
  }
  ASSERT_OK(trainer->train());
  EXPECT_THAT(
      events_,
      ElementsAre("a.start", "b.start", "a.before_epoch", "b.before_epoch", "a.before_step",
                  "b.before_step", "b.after_data(0)", "a.after_data(0)", "b.after_backward",
                  "a.after_backward", "b.after_step", "a.after_step", "b.out_of_data(epoch)",
                  "a.out_of_data(epoch)", "b.after_epoch", "a.after_epoch", "b.end", "a.end"));
}

TEST_F(TrainerTest, TwoHooksOfOneNameAreRefused) {
  auto trainer = this->trainer(two_steps());
  EXPECT_THAT(trainer->add_hook(std::make_unique<RecordingHook>(&events_)),
              StatusIs(absl::StatusCode::kAlreadyExists, HasSubstr("recording")));
}

TEST_F(TrainerTest, EvaluationLeavesEverythingAsItWas) {
  TinyTrainerOptions options = two_steps();
  options.train.sparse = 2;
  options.optimizer = "adam";
  auto trainer = this->trainer(options);
  ASSERT_OK(trainer->train());
  const std::string before = fingerprint(trainer->model());
  const Progress progress = trainer->progress();
  at::Generator generator = at::detail::getDefaultCPUGenerator();
  const at::Tensor state = generator.get_state();
  // The data includes ids that training has not used.
  FakeDataset data({.batches = 3, .sparse = 2, .ids = 1000000});
  ASSERT_OK(trainer->evaluate(data, {}));
  EXPECT_EQ(fingerprint(trainer->model()), before);
  EXPECT_TRUE(trainer->progress() == progress);
  EXPECT_TRUE(at::equal(generator.get_state(), state));
  EXPECT_TRUE(trainer->model().is_training());
}

TEST_F(TrainerTest, EvaluationsInsideTrainingDoNotChangeTheResult) {
  TinyTrainerOptions options;
  options.train.sparse = 2;
  options.optimizer = "adam";
  const auto run = [&](bool evaluate) {
    std::unique_ptr<Trainer> trainer = tiny_trainer(options);
    EXPECT_OK(trainer->add_hook(std::make_unique<RecordingHook>(
        &events_, [&](HookContext& context, absl::string_view event) {
          if (evaluate && event == "after_step") context.requests().evaluate();
          return absl::OkStatus();
        })));
    EXPECT_OK(trainer->train());
    return fingerprint(trainer->model());
  };
  EXPECT_EQ(run(true), run(false));
}

TEST_F(TrainerTest, MicroBatchesEqualOneLargeBatch) {
  const auto run = [](int64_t micro_batches, bool targets) {
    TinyTrainerOptions options;
    options.train = {.batches = 4 * micro_batches, .batch_size = 16 / micro_batches, .sparse = 2};
    options.trainer.micro_batches = micro_batches;
    options.optimizer = "adam";
    options.gives_targets = targets;
    std::unique_ptr<Trainer> trainer = tiny_trainer(options);
    EXPECT_OK(trainer->train());
    return trainer->model().parameters()[0].detach().clone();
  };
  for (const bool targets : {false, true}) {
    EXPECT_TRUE(at::allclose(run(1, targets), run(4, targets), 1e-5, 1e-7)) << targets;
  }
}

TEST_F(TrainerTest, TargetsDivideTheLoss) {
  // Targets of half the examples double the gradients, which under SGD equals doubling the rate.
  const auto run = [](bool targets, double learning_rate) {
    TinyTrainerOptions options;
    options.train = {.batches = 1, .sparse = 1};
    options.gives_targets = targets;
    options.learning_rate = learning_rate;
    std::unique_ptr<Trainer> trainer = tiny_trainer(options);
    EXPECT_OK(trainer->train());
    return fingerprint(trainer->model());
  };
  EXPECT_EQ(run(true, 0.125), run(false, 0.25));
}

TEST_F(TrainerTest, ReportedValuesReachTheReport) {
  class Reading : public Hook {
   public:
    explicit Reading(Report* report) : report_(report) {}
    absl::string_view name() const override { return "reading"; }
    absl::Status after_step(HookContext& context, const StepResult&) override {
      context.report("twice_step", 2.0 * static_cast<double>(context.progress().step),
                     Reduction::kMax);
      return absl::OkStatus();
    }
    absl::Status after_report(HookContext&, const Report& report) override {
      *report_ = report;
      return absl::OkStatus();
    }
    Report* report_;
  };
  Report report;
  TinyTrainerOptions options = two_steps();
  options.train.sparse = 1;
  std::unique_ptr<Trainer> trainer = tiny_trainer(options);
  ASSERT_OK(trainer->add_hook(std::make_unique<Reading>(&report)));
  ASSERT_OK(trainer->train());
  EXPECT_EQ(report.values["twice_step"], 4);
  EXPECT_EQ(report.values.count("mean_logit"), 1);
  EXPECT_EQ(report.steps, 2);
  EXPECT_EQ(report.examples, 16);
  EXPECT_EQ(report.learning_rates["dense"], 0.1);
  EXPECT_GT(report.tables["items"].rows, 0);
  for (const char* metric : {"loss", "auc", "logloss", "ne", "calibration"}) {
    EXPECT_EQ(report.metrics.count(metric), 1) << metric;
  }
}

TEST_F(TrainerTest, TablesTrainBesideFrozenParameters) {
  const auto run = [](double rate) {
    TinyTrainerOptions options = two_steps();
    options.train.sparse = 1;
    options.learning_rate = rate;
    options.dense_optimizer.emplace().set_frozen(true);
    auto trainer = tiny_trainer(options);
    std::vector<at::Tensor> before;
    for (const at::Tensor& parameter : trainer->model().parameters()) {
      EXPECT_FALSE(parameter.requires_grad());
      before.push_back(parameter.clone());
    }
    EXPECT_OK(trainer->train());
    const std::vector<at::Tensor> after = trainer->model().parameters();
    for (size_t i = 0; i < before.size(); ++i) {
      EXPECT_FALSE(after[i].grad().defined());
      EXPECT_TRUE(after[i].equal(before[i]));
    }
    return fingerprint(trainer->model());
  };
  EXPECT_NE(run(0.1), run(0.2));
  EXPECT_EQ(run(0.1), run(0.1));
}

TEST_F(TrainerTest, CadenceIsDueOncePerServingPoint) {
  TinyTrainerOptions options;
  options.train.batches = 5;
  options.trainer.report = {};
  std::vector<int64_t> due;
  bool at_start = false, at_end = false;
  const Cadence cadence = {.every_steps = 2, .at_start = true, .at_end = true};
  auto trainer = this->trainer(options, [&](HookContext& context, absl::string_view event) {
    if (event == "start") at_start = context.due(cadence);
    if (event == "end") at_end = context.due(cadence);
    if (event == "after_step" || event == "after_epoch") {
      if (context.due(cadence)) due.push_back(context.progress().step);
    }
    return absl::OkStatus();
  });
  ASSERT_OK(trainer->train());
  EXPECT_THAT(due, ElementsAre(2, 4));
  EXPECT_TRUE(at_start);
  EXPECT_TRUE(at_end);
}

TEST_F(TrainerTest, ReloadsNeedADynamicModelBank) {
  auto trainer = this->trainer(two_steps(), [](HookContext& context, absl::string_view event) {
    if (event == "after_step") context.requests().reload();
    return absl::OkStatus();
  });
  EXPECT_THAT(trainer->train(),
              StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("no model bank")));
}

TEST_F(TrainerTest, CheckpointRequestsNeedASaver) {
  auto trainer = this->trainer(two_steps(), [](HookContext& context, absl::string_view event) {
    if (event == "after_step") context.requests().checkpoint();
    return absl::OkStatus();
  });
  EXPECT_THAT(trainer->train(),
              StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("saver")));
}

TEST_F(TrainerTest, EmptyTrainingDataIsAnError) {
  TinyTrainerOptions options;
  options.train.batches = 0;
  auto trainer = this->trainer(options);
  EXPECT_THAT(trainer->train(),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("no examples")));
  EXPECT_EQ(events_.back(), "end");
}

TEST(TrainerCreate, RefusesBadParts) {
  EXPECT_THAT(Trainer::create({}, {}), StatusIs(absl::StatusCode::kInvalidArgument));
  TrainerParts parts;
  parts.model = std::make_shared<TinyModel>(1);
  parts.evaluation_sets.push_back({"x", nullptr});
  parts.evaluation_sets.push_back({"x", nullptr});
  EXPECT_THAT(Trainer::create({}, std::move(parts)),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("\"x\": the name is taken")));
}

}  // namespace
}  // namespace millrace
