// Tests the saves of a trainer without requests, and resumed runs.
#include <algorithm>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/clock.h"
#include "base/failure_kind.h"
#include "base/memory_file_system_testing.h"
#include "base/status_matchers.h"
#include "checkpoint/folder/checkpoint_list.h"
#include "checkpoint/saver.h"
#include "framework/report/event_log.h"
#include "tests/fakes/gated_file_system.h"
#include "tests/fakes/memory_checkpoint.h"
#include "tests/fakes/recording_hook.h"
#include "tests/fakes/tiny_trainer.h"

namespace millrace {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Pair;

constexpr char kFolder[] = "out/checkpoints";

struct VectorEventLog : EventLog {
  void record(const LoopEvent& event) override { events.push_back(event); }
  std::vector<LoopEvent> events;
};

// Records the paths of all checkpoints that hooks are notified of.
class CheckpointPaths : public Hook {
 public:
  explicit CheckpointPaths(std::vector<std::string>* paths) : paths_(paths) {}
  absl::string_view name() const override { return "paths"; }
  absl::Status after_checkpoint(HookContext&, const CheckpointInfo& checkpoint) override {
    paths_->push_back(checkpoint.path);
    return absl::OkStatus();
  }

 private:
  std::vector<std::string>* paths_;
};

class TrainerSaveTest : public testing::Test {
 protected:
  TrainerSaveTest() {
    options_.train = {.batches = 4, .batch_size = 6, .dense = 3, .sparse = 2, .ids = 60};
    options_.optimizer = "adam";
    options_.trainer.report = {};
    options_.trainer.max_epochs = 2;
    options_.clock = &clock_;
  }

  // Starts a new process of the job.
  Trainer& start() {
    TrainerParts parts = tiny_parts(options_);
    SaverOptions options;
    options.folder = kFolder;
    options.write_threads = 1;
    options.asynchronous = asynchronous_;
    trainer_.reset();  // releases its lock
    auto saver = Saver::create(std::move(options), *files_, Clock::real());
    EXPECT_OK(saver.status());
    parts.saver = *std::move(saver);
    auto log = std::make_unique<VectorEventLog>();
    log_ = &log->events;
    parts.event_log = std::move(log);
    auto trainer = Trainer::create(options_.trainer, std::move(parts));
    EXPECT_OK(trainer.status());
    trainer_ = *std::move(trainer);
    events_.clear();
    told_.clear();
    EXPECT_OK(trainer_->add_hook(std::make_unique<CheckpointPaths>(&told_)));
    EXPECT_OK(trainer_->add_hook(std::make_unique<RecordingHook>(
        &events_, [this](HookContext& context, absl::string_view event) {
          return on_event_ ? on_event_(context, event) : absl::OkStatus();
        })));
    return *trainer_;
  }
  void fresh_disk() {
    trainer_.reset();
    files_ = std::make_unique<MemoryFileSystem>();
  }
  std::vector<std::string> checkpoints() {
    std::vector<std::string> paths;
    auto listed = list_checkpoints(*files_, kFolder);
    EXPECT_OK(listed.status());
    for (const ListedCheckpoint& checkpoint : *listed) paths.push_back(checkpoint.path);
    return paths;
  }
  CheckpointManifest newest() {
    auto reader = CheckpointReader::open(*files_, checkpoints().back());
    EXPECT_OK(reader.status());
    return (*reader)->manifest();
  }
  // Expects that the resumed trainer has the state of an unbroken run with the same options.
  void expect_what_an_unbroken_run_comes_to() {
    const std::string resumed = state_of(*trainer_);
    fresh_disk();
    ASSERT_OK(start().train());
    EXPECT_EQ(state_of(*trainer_), resumed);
  }
  static std::string state_of(Trainer& trainer) {
    auto state = trainer.capture();
    EXPECT_OK(state.status());
    return MemoryCheckpoint(*state).to_string();
  }

  FakeClock clock_;
  TinyTrainerOptions options_;
  std::unique_ptr<MemoryFileSystem> files_ = std::make_unique<MemoryFileSystem>();
  std::unique_ptr<Trainer> trainer_;
  std::vector<std::string> events_;
  std::vector<LoopEvent>* log_ = nullptr;  // the trainer's
  std::vector<std::string> told_;          // paths of checkpoints
  std::function<absl::Status(HookContext&, absl::string_view)> on_event_;
  std::vector<std::string> notes_;
  bool asynchronous_ = false;
};

TEST_F(TrainerSaveTest, AtTheEndWithWhatEvaluationsSaid) {
  on_event_ = [](HookContext& context, absl::string_view event) {
    if (event == "start") context.requests().evaluate_at_end();
    return absl::OkStatus();
  };
  Trainer& trainer = start();
  ASSERT_OK_AND_ASSIGN(const Summary summary, trainer.train());
  EXPECT_THAT(checkpoints(), ElementsAre("out/checkpoints/step-00000008"));
  EXPECT_EQ(summary.checkpoint, "out/checkpoints/step-00000008");
  const CheckpointManifest manifest = newest();
  EXPECT_TRUE(manifest.finished());
  std::map<std::string, double> metrics;
  for (const auto& metric : manifest.metrics()) metrics[metric.name()] = metric.value();
  EXPECT_THAT(metrics, Contains(Pair("eval/auc", summary.eval.at("eval").at("auc"))));
  ASSERT_GE(events_.size(), 3u);
  // The first of two saves precedes the evaluation, whose result is in the second save.
  EXPECT_EQ(std::count(events_.begin(), events_.end(), "after_checkpoint"), 2);
  EXPECT_LT(std::find(events_.begin(), events_.end(), "after_checkpoint"),
            std::find(events_.begin(), events_.end(), "after_evaluate"));
  EXPECT_EQ(events_[events_.size() - 3], "after_evaluate");
  EXPECT_EQ(events_[events_.size() - 2], "after_checkpoint");
  EXPECT_EQ(events_.back(), "end");
  EXPECT_EQ(trainer.finished(), "completed");
}

// The save after the last evaluation keeps the files of the save before.
TEST_F(TrainerSaveTest, RoomForOneCheckpointIsEnoughForARunThatEvaluatesAtItsEnd) {
  options_.train.batch_size = 500;
  options_.train.ids = 5000;
  constexpr int64_t kSmallFiles = 100 << 10;  // the state has a number for each example
  for (const bool asynchronous : {false, true}) {
    SCOPED_TRACE(asynchronous ? "asynchronously" : "synchronously");
    fresh_disk();
    asynchronous_ = asynchronous;
    on_event_ = [&](HookContext& context, absl::string_view event) {
      if (event == "start") context.requests().evaluate_at_end();
      if (event != "after_checkpoint") return absl::OkStatus();
      EXPECT_GT(files_->used_bytes(), 3 * kSmallFiles);
      files_->set_capacity(files_->used_bytes() + kSmallFiles);
      return absl::OkStatus();
    };
    ASSERT_OK_AND_ASSIGN(const Summary summary, start().train());
    EXPECT_EQ(summary.outcome, Outcome::kCompleted);
    EXPECT_THAT(checkpoints(), ElementsAre("out/checkpoints/step-00000008"));
    EXPECT_TRUE(newest().finished());
    EXPECT_GT(newest().metrics_size(), 0);
    EXPECT_THAT(told_, ElementsAre(checkpoints()[0], checkpoints()[0]));
    on_event_ = nullptr;
    const std::string end = state_of(*trainer_);
    ASSERT_OK(start().resume(&notes_));
    EXPECT_EQ(trainer_->finished(), "completed");
    EXPECT_EQ(state_of(*trainer_), end);
  }
}

// The evaluation is at the end, or after the last epoch or step by a cadence.
TEST_F(TrainerSaveTest, AFailedLastEvaluationCostsNothingAndIsMadeAgain) {
  for (const bool asynchronous : {false, true}) {
    for (const std::string asked_in : {"start", "after_epoch", "after_step"}) {
      SCOPED_TRACE(absl::StrCat(asked_in, asynchronous ? ", asynchronously" : ""));
      fresh_disk();
      asynchronous_ = asynchronous;
      on_event_ = [&](HookContext& context, absl::string_view event) {
        if (event != asked_in) return absl::OkStatus();
        if (event == "start") context.requests().evaluate_at_end();
        if (event == "after_epoch" && context.progress().epoch == 2) context.requests().evaluate();
        if (event == "after_step" && context.progress().step == 8) context.requests().evaluate();
        return absl::OkStatus();
      };
      options_.eval.fail_at = 1;
      const absl::Status failed = start().train().status();
      EXPECT_EQ(kind_of(failed), FailureKind::kEvaluation) << failed;
      EXPECT_THAT(std::string(failed.message()),
                  AllOf(HasSubstr("evaluating \"eval\""),
                        HasSubstr("saved up to step 8 in out/checkpoints/step-00000008")));
      EXPECT_THAT(checkpoints(), ElementsAre("out/checkpoints/step-00000008"));
      EXPECT_FALSE(newest().finished());
      EXPECT_EQ(trainer_->summary().checkpoint, checkpoints()[0]);
      // The checkpoint does not change while the evaluation fails.
      ASSERT_OK(start().resume(&notes_));
      EXPECT_THAT(trainer_->train().status().message(), HasSubstr("saved up to step 8"));
      EXPECT_FALSE(newest().finished());
      options_.eval.fail_at = -1;
      ASSERT_OK(start().resume(&notes_));
      ASSERT_OK_AND_ASSIGN(const Summary summary, trainer_->train());
      EXPECT_EQ(summary.steps_begun, 0);
      EXPECT_EQ(summary.eval_step.at("eval"), 8);
      EXPECT_TRUE(newest().finished());
      EXPECT_GT(newest().metrics_size(), 0) << "what keep_best chooses by";
      expect_what_an_unbroken_run_comes_to();
    }
  }
}

TEST_F(TrainerSaveTest, AFailedEvaluationWithinTrainingCostsNothing) {
  on_event_ = [](HookContext& context, absl::string_view event) {
    if (event == "after_step" && context.progress().step == 3) context.requests().evaluate();
    return absl::OkStatus();
  };
  options_.eval.fail_at = 0;
  EXPECT_EQ(kind_of(start().train().status()), FailureKind::kEvaluation);
  EXPECT_THAT(checkpoints(), ElementsAre("out/checkpoints/step-00000003"));
  options_.eval.fail_at = -1;
  ASSERT_OK(start().resume(&notes_));
  ASSERT_OK_AND_ASSIGN(const Summary summary, trainer_->train());
  EXPECT_EQ(summary.eval_step.at("eval"), 3) << "it is made first";
  expect_what_an_unbroken_run_comes_to();
}

// An evaluation that is requested with a stop is the last. A run that is killed in this evaluation
// resumes with it, and stops if all ranks requested the stop.
TEST_F(TrainerSaveTest, AnEvaluationThatComesWithAStopIsSavedBefore) {
  options_.trainer.save_on_failure = false;  // as if it were killed
  for (const Scope scope : {Scope::kCommon, Scope::kThisRank}) {
    SCOPED_TRACE(scope == Scope::kCommon ? "common" : "of this rank");
    fresh_disk();
    options_.eval.fail_at = 0;
    on_event_ = [scope](HookContext& context, absl::string_view event) {
      if (event != "after_step" || context.progress().step != 3) return absl::OkStatus();
      context.requests().evaluate("", scope);
      context.requests().stop("enough", scope);
      return absl::OkStatus();
    };
    const absl::Status failed = start().train().status();
    const int64_t step = trainer_->progress().step;
    EXPECT_THAT(std::string(failed.message()), HasSubstr(absl::StrCat("saved up to step ", step)));
    EXPECT_THAT(checkpoints(), ElementsAre(absl::StrCat("out/checkpoints/step-0000000", step)));
    EXPECT_FALSE(newest().finished());
    options_.eval.fail_at = -1;
    on_event_ = [step](HookContext& context, absl::string_view event) {
      if (event == "after_step" && context.progress().step == step) context.requests().evaluate();
      return absl::OkStatus();
    };
    ASSERT_OK(start().resume(&notes_));
    ASSERT_OK_AND_ASSIGN(const Summary summary, trainer_->train());
    EXPECT_EQ(summary.eval_step.at("eval"), step) << "it is made first";
    if (scope == Scope::kCommon) {
      EXPECT_EQ(summary.stop_reason, "enough");
      EXPECT_EQ(summary.steps_begun, 0);
      EXPECT_TRUE(newest().finished());
    } else {
      expect_what_an_unbroken_run_comes_to();
    }
  }
}

// An interrupted evaluation does not make decisions of a complete evaluation.
TEST_F(TrainerSaveTest, AStopThatTheLastEvaluationLeadsToIsSaved) {
  on_event_ = [](HookContext& context, absl::string_view event) {
    if (event == "start") context.requests().evaluate_at_end();
    if (event == "after_evaluate") context.requests().stop("good enough");
    return absl::OkStatus();
  };
  ASSERT_OK(start().train());
  ASSERT_OK(start().resume(&notes_));
  EXPECT_EQ(trainer_->finished(), "stopped: good enough");
}

TEST_F(TrainerSaveTest, AsynchronouslyTheSameComesOfIt) {
  on_event_ = [](HookContext& context, absl::string_view event) {
    if (event == "after_step") context.requests().checkpoint();
    return absl::OkStatus();
  };
  ASSERT_OK(start().train());
  const std::string end = state_of(*trainer_);
  const std::vector<std::string> saved = checkpoints();
  const std::vector<std::string> events = events_;
  const CheckpointManifest whole = newest();
  fresh_disk();
  asynchronous_ = true;
  ASSERT_OK_AND_ASSIGN(const Summary summary, start().train());
  EXPECT_EQ(state_of(*trainer_), end);
  EXPECT_EQ(checkpoints(), saved);
  EXPECT_EQ(summary.checkpoint, saved.back());
  const CheckpointManifest same = newest();
  ASSERT_EQ(same.content_digests_size(), whole.content_digests_size());
  for (int i = 0; i < whole.content_digests_size(); ++i) {
    EXPECT_EQ(same.content_digests(i).digest(), whole.content_digests(i).digest())
        << whole.content_digests(i).name();
  }
  // Hooks were notified of each checkpoint, if later.
  EXPECT_EQ(std::count(events_.begin(), events_.end(), "after_checkpoint"),
            std::count(events.begin(), events.end(), "after_checkpoint"));
  on_event_ = nullptr;
  ASSERT_OK(start().resume(&notes_));
  EXPECT_EQ(trainer_->finished(), "completed");
  EXPECT_EQ(state_of(*trainer_), end);
}

TEST_F(TrainerSaveTest, AsynchronouslyAFailingRunFinishesWhatIsUnderWay) {
  asynchronous_ = true;
  on_event_ = [](HookContext& context, absl::string_view event) {
    if (event != "after_step") return absl::OkStatus();
    context.requests().checkpoint();
    return context.progress().step == 3 ? absl::InternalError("broken") : absl::OkStatus();
  };
  EXPECT_THAT(start().train(), StatusIs(absl::StatusCode::kInternal, HasSubstr("broken")));
  EXPECT_THAT(checkpoints(),
              ElementsAre("out/checkpoints/step-00000001", "out/checkpoints/step-00000002"));
  asynchronous_ = false;
  on_event_ = nullptr;
  ASSERT_OK(start().resume(&notes_));
  ASSERT_OK(trainer_->train());
  expect_what_an_unbroken_run_comes_to();
}

TEST_F(TrainerSaveTest, AsynchronouslyAFailedSaveEndsTheRun) {
  asynchronous_ = true;
  auto gated = std::make_unique<GatedFileSystem>();
  gated->fail("table-");
  files_ = std::move(gated);
  on_event_ = [](HookContext& context, absl::string_view event) {
    if (event == "after_step" && context.progress().step == 1) context.requests().checkpoint();
    return absl::OkStatus();
  };
  EXPECT_THAT(start().train(), StatusIs(absl::StatusCode::kUnavailable,
                                        AllOf(HasSubstr("making a checkpoint"),
                                              HasSubstr("saving step"), HasSubstr("injected"))));
  EXPECT_THAT(checkpoints(), IsEmpty());
}

// The save of the evaluated step is in progress when the evaluation fails, and fails, too.
TEST_F(TrainerSaveTest, AsynchronouslyNothingIsCalledSavedThatIsNot) {
  asynchronous_ = true;
  auto gated = std::make_unique<GatedFileSystem>();
  gated->fail("table-");
  files_ = std::move(gated);
  on_event_ = [](HookContext& context, absl::string_view event) {
    if (event != "after_step") return absl::OkStatus();
    // The evaluation is served after the next step, after the checkpoint.
    if (context.progress().step == 2) context.requests().evaluate("", Scope::kThisRank);
    if (context.progress().step == 3) context.requests().checkpoint();
    return absl::OkStatus();
  };
  options_.eval.fail_at = 0;
  const absl::Status failed = start().train().status();
  EXPECT_EQ(kind_of(failed), FailureKind::kEvaluation);
  EXPECT_THAT(std::string(failed.message()), Not(HasSubstr("training is saved")));
  EXPECT_THAT(checkpoints(), IsEmpty());
}

TEST_F(TrainerSaveTest, AsynchronouslyWhatIsDurableIsToldAlsoIfTheNextOneFails) {
  asynchronous_ = true;
  auto gated = std::make_unique<GatedFileSystem>();
  gated->fail("step-00000003");
  files_ = std::move(gated);
  options_.trainer.max_steps = 3;  // both saves are in progress at the end
  on_event_ = [](HookContext& context, absl::string_view event) {
    if (event == "after_step" && context.progress().step == 2) context.requests().checkpoint();
    return absl::OkStatus();
  };
  EXPECT_THAT(start().train(),
              StatusIs(absl::StatusCode::kUnavailable, HasSubstr("saving step 3")));
  EXPECT_THAT(checkpoints(), ElementsAre("out/checkpoints/step-00000002"));
  EXPECT_THAT(told_, ElementsAre("out/checkpoints/step-00000002"));
  EXPECT_EQ(trainer_->summary().checkpoint, "out/checkpoints/step-00000002");
}

// The event log has the end of the save as the time of service, not the begin.
TEST_F(TrainerSaveTest, AsynchronouslyARequestIsServedWhenTheCheckpointIsThere) {
  asynchronous_ = true;
  auto gated = std::make_unique<GatedFileSystem>();
  GatedFileSystem* const gate = gated.get();
  gate->hold("manifest.json");
  files_ = std::move(gated);
  on_event_ = [gate](HookContext& context, absl::string_view event) {
    if (event != "after_step") return absl::OkStatus();
    if (context.progress().step == 2) context.requests().checkpoint();
    if (context.progress().step == 5) gate->release();
    return absl::OkStatus();
  };
  ASSERT_OK(start().train());
  std::vector<int64_t> steps;
  for (const LoopEvent& event : *log_) {
    const bool of_hook =
        event.kind == LoopEvent::kServed && event.what == "checkpoint" && !event.hook.empty();
    if (of_hook) steps.push_back(event.progress.step);
  }
  ASSERT_EQ(steps.size(), 1u);
  EXPECT_GE(steps[0], 5);
}

TEST_F(TrainerSaveTest, AFinishedRunIsKnownUnlessALimitWasRaised) {
  options_.trainer.max_steps = 6;
  ASSERT_OK(start().train());
  ASSERT_OK_AND_ASSIGN(const auto found, start().resume(&notes_));
  ASSERT_TRUE(found.has_value());
  EXPECT_EQ(found->path, "out/checkpoints/step-00000006");
  EXPECT_EQ(found->progress.step, 6);
  EXPECT_EQ(trainer_->finished(), "completed");
  EXPECT_THAT(notes_, IsEmpty());
  options_.trainer.max_steps = 8;
  ASSERT_OK(start().resume(&notes_));
  EXPECT_EQ(trainer_->finished(), std::nullopt);
  ASSERT_OK(trainer_->train());
  EXPECT_EQ(trainer_->progress().step, 8);
  expect_what_an_unbroken_run_comes_to();
}

TEST_F(TrainerSaveTest, AStopOfAllRanksIsAnEndAndAStopOfOneIsNone) {
  for (const Scope scope : {Scope::kCommon, Scope::kThisRank}) {
    fresh_disk();
    on_event_ = [scope](HookContext& context, absl::string_view event) {
      if (event == "after_step" && context.progress().step == 3) {
        context.requests().stop("enough", scope);
      }
      return absl::OkStatus();
    };
    ASSERT_OK_AND_ASSIGN(const Summary summary, start().train());
    EXPECT_EQ(summary.checkpoint, checkpoints().back());
    EXPECT_EQ(newest().finished(), scope == Scope::kCommon);
    on_event_ = nullptr;
    ASSERT_OK(start().resume(&notes_));
    EXPECT_EQ(trainer_->finished(), scope == Scope::kCommon
                                        ? std::optional<std::string>("stopped: enough")
                                        : std::nullopt);
    if (scope == Scope::kCommon) continue;
    ASSERT_OK(trainer_->train());
    expect_what_an_unbroken_run_comes_to();
  }
}

TEST_F(TrainerSaveTest, AfterAFailureBetweenSteps) {
  options_.train.fail_at = 3;
  EXPECT_FALSE(start().train().ok());
  EXPECT_THAT(checkpoints(), ElementsAre("out/checkpoints/step-00000002"));
  EXPECT_FALSE(newest().finished());
  EXPECT_EQ(newest().progress().step(), 2) << "the batch of step 4 is read before step 3";
  EXPECT_EQ(trainer_->progress().step, 2);
  options_.train.fail_at = -1;
  ASSERT_OK(start().resume(&notes_));
  ASSERT_OK(trainer_->train());
  expect_what_an_unbroken_run_comes_to();
}

TEST_F(TrainerSaveTest, NotAfterAFailureInTheMidstOfSomething) {
  for (const std::string failing :
       {"start", "before_epoch", "before_step", "after_data(0)", "after_backward", "after_step",
        "after_epoch", "after_evaluate"}) {
    SCOPED_TRACE(failing);
    fresh_disk();
    on_event_ = [failing](HookContext& context, absl::string_view event) {
      if (event == "after_step") context.requests().evaluate();
      const bool now = failing != "before_epoch" || context.progress().epoch == 1;
      return event == failing && now ? absl::InternalError("broken") : absl::OkStatus();
    };
    EXPECT_THAT(start().train(), StatusIs(absl::StatusCode::kInternal, HasSubstr("broken")));
    EXPECT_THAT(checkpoints(), IsEmpty());
  }
}

TEST_F(TrainerSaveTest, WhatFallsDueAtTheEndIsSavedOnce) {
  options_.trainer.max_steps = 3;
  on_event_ = [](HookContext& context, absl::string_view event) {
    if (event == "after_step" && context.progress().step == 3) context.requests().checkpoint();
    return absl::OkStatus();
  };
  ASSERT_OK(start().train());
  EXPECT_THAT(checkpoints(), ElementsAre("out/checkpoints/step-00000003"));
  EXPECT_TRUE(newest().finished());
  EXPECT_EQ(std::count(events_.begin(), events_.end(), "after_checkpoint"), 1);
}

TEST_F(TrainerSaveTest, WhatFallsDueAtTheEndComesBeforeAReportThatMayFail) {
  options_.trainer.max_steps = 3;
  options_.trainer.report = {.at_end = true};
  on_event_ = [](HookContext& context, absl::string_view event) {
    if (event == "after_step" && context.progress().step == 3) context.requests().checkpoint();
    return event == "after_report" ? absl::InternalError("broken") : absl::OkStatus();
  };
  EXPECT_THAT(start().train(), StatusIs(absl::StatusCode::kInternal, HasSubstr("broken")));
  EXPECT_THAT(checkpoints(), ElementsAre("out/checkpoints/step-00000003"));
  EXPECT_FALSE(newest().finished());
}

TEST_F(TrainerSaveTest, SwitchedOff) {
  options_.trainer.save_at_end = false;
  options_.trainer.save_on_failure = false;
  ASSERT_OK(start().train());
  EXPECT_THAT(checkpoints(), IsEmpty());
  on_event_ = [](HookContext&, absl::string_view event) {
    return event == "after_step" ? absl::InternalError("broken") : absl::OkStatus();
  };
  EXPECT_FALSE(start().train().ok());
  EXPECT_THAT(checkpoints(), IsEmpty());
  ASSERT_OK_AND_ASSIGN(const auto found, start().resume(&notes_));
  EXPECT_FALSE(found.has_value());
}

TEST_F(TrainerSaveTest, TwoInOneFolder) {
  ASSERT_OK(start().train());
  const std::unique_ptr<Trainer> first = std::move(trainer_);  // holds the lock
  Trainer& second = start();
  EXPECT_THAT(second.train(), StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr(kFolder)));
  EXPECT_EQ(second.progress().step, 0) << "it was refused before its first step";
}

TEST_F(TrainerSaveTest, FromOneByItsPath) {
  on_event_ = [](HookContext& context, absl::string_view event) {
    if (event == "after_step" && context.progress().step == 2) context.requests().checkpoint();
    return absl::OkStatus();
  };
  ASSERT_OK(start().train());
  const std::string whole = state_of(*trainer_);
  EXPECT_THAT(checkpoints(),
              ElementsAre("out/checkpoints/step-00000002", "out/checkpoints/step-00000008"));
  ASSERT_OK_AND_ASSIGN(const CheckpointInfo info,
                       start().resume_from("out/checkpoints/step-00000002", &notes_));
  EXPECT_EQ(info.progress.step, 2);
  EXPECT_EQ(trainer_->finished(), std::nullopt);
  ASSERT_OK(trainer_->train());
  EXPECT_EQ(state_of(*trainer_), whole);
  EXPECT_THAT(start().resume_from("out/checkpoints/step-00000003", &notes_),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("step-00000003")));
}

}  // namespace
}  // namespace millrace
