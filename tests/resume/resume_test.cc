// Tests that 2N steps equal N steps, a resume, and N steps: to the last bit, from every serving
// point.
#include <google/protobuf/text_format.h>

#include "absl/strings/str_cat.h"
#include "base/status_matchers.h"
#include "tests/resume/resume_case.h"

namespace millrace {
namespace {

using google::protobuf::TextFormat;

constexpr const char* kSparse[] = {"sgd {}",
                                   "adagrad {}",
                                   "rowwise_adagrad {}",
                                   "adam {}",
                                   "adam { step_count: ROW }",
                                   "adamw { weight_decay: 0.01 }",
                                   "ftrl { l1: 0.001 }"};
constexpr const char* kFrozen = "frozen: true";
constexpr const char* kDense[] = {"sgd {}",
                                  "sgd { momentum: 0.9 }",
                                  "adagrad { lr_decay: 0.01 }",
                                  "adam {}",
                                  "adamw { weight_decay: 0.01 }",
                                  "rmsprop { alpha: 0.9 momentum: 0.5 centered: true }",
                                  "lamb { weight_decay: 0.01 }",
                                  "adamw_tf {}",
                                  kFrozen};
// The schedules follow evaluations, have a corner within the run, restart, or count epochs.
constexpr const char* kSchedules[] = {
    "schedule { reduce_on_plateau { monitor: 'eval/loss' factor: 0.5 patience: 0 } }",
    "schedule { linear_warmup { length { count: 9 } } }",
    "schedule { cosine { length { count: 12 } cycles: 0 cycle_multiplier: 1.5 final_factor: 0.1 } "
    "}",
    "schedule { unit: EPOCHS step { length { count: 3 } gamma: 0.5 } }"};
constexpr const char* kClippings[] = {"", "max_norm: 0.05", "max_norm: 0.05 over: DENSE",
                                      "max_norm: 0.05 over: EACH", "max_value: 0.002"};
// The scale of FLOAT16 begins too high and grows to overflows every few steps.
constexpr const char* kPrecisions[] = {
    "", "compute: BFLOAT16", "compute: FLOAT16 loss_scale { initial: 2097152 growth_interval: 3 }"};
constexpr const char* kAverages[] = {"", "decay: 0.9", "decay: 0.6 warmup: false"};
constexpr const char* kDuplicates[] = {"", "duplicate_gradients: MEAN "};
constexpr RowDtype kDtypes[] = {FLOAT32, FLOAT16, BFLOAT16};
constexpr const char* kAdmissions[] = {"", "count { min_count: 2 }",
                                       "count { min_count: 2 sketch { capacity: 30 } }",
                                       "probability { probability: 0.5 }"};

// Eight epochs of six steps of two micro-batches, one of them refused: 40 steps. Ids appear and
// disappear. `number` determines optimizers, schedules, clipping, precision, average, dtype and
// admission. The numbers of optimizers, schedules and clippings have no common factor, so that each
// sparse optimizer is combined with each dense optimizer.
ResumeCase forty_steps(int number) {
  ResumeCase resume_case;
  TinyTrainerOptions& options = resume_case.options;
  options.trainer.max_steps = 40;
  options.trainer.max_epochs = 0;
  options.trainer.micro_batches = 2;
  options.trainer.report = {.every_steps = 7, .at_end = true};
  options.train = {.batches = 12, .batch_size = 6, .dense = 3, .sparse = 2, .ids = 60, .nan_at = 5};
  resume_case.evaluate = {.every_steps = 9};
  resume_case.evict = {.every_steps = 3};
  EXPECT_TRUE(TextFormat::ParseFromString(
      "idle_steps: 6 idle_seconds: 11 frequency_below: 1.2 half_life_steps: 4",
      options.table.mutable_eviction()));
  options.dense_optimizer.emplace();
  const char* dense = kDense[number % 9];
  EXPECT_TRUE(TextFormat::ParseFromString(
      dense == kFrozen ? kFrozen
                       : absl::StrCat("learning_rate: 0.05 ", kSchedules[number % 4], dense),
      &*options.dense_optimizer));
  options.sparse_optimizer.emplace();
  EXPECT_TRUE(
      TextFormat::ParseFromString(absl::StrCat("learning_rate: 0.05 ", kDuplicates[number % 11 % 2],
                                               kSchedules[(number + 1) % 4], kSparse[number % 7]),
                                  &*options.sparse_optimizer));
  EXPECT_TRUE(TextFormat::ParseFromString(kClippings[number % 5], &options.clipping));
  EXPECT_TRUE(TextFormat::ParseFromString(kPrecisions[(number + number / 9) % 3],
                                          &options.trainer.precision));
  const std::string average = kAverages[number % 11 % 3];
  if (!average.empty() && dense != kFrozen) {
    EXPECT_TRUE(TextFormat::ParseFromString(average, &options.moving_average.emplace()));
  }
  options.table.set_row_dtype(kDtypes[number / 35]);
  EXPECT_TRUE(TextFormat::ParseFromString(kAdmissions[(number + number / 35) % 4],
                                          options.table.mutable_admission()));
  return resume_case;
}

// Expects equal results of the whole run, with and without checkpoints, and of a run from each of
// the checkpoints.
void expect_exact(const ResumeCase& resume_case, size_t least_points,
                  const Progress& expected = {.step = 40, .epoch = 8, .skipped_steps = 8}) {
  ASSERT_OK_AND_ASSIGN(const ResumeRun whole, run_whole(resume_case, nullptr));
  ASSERT_EQ(whole.progress.step, expected.step);
  ASSERT_EQ(whole.progress.epoch, expected.epoch);
  ASSERT_EQ(whole.progress.window, expected.window);
  ASSERT_EQ(whole.progress.skipped_steps, expected.skipped_steps);
  ASSERT_GT(whole.evicted, 20);
  ASSERT_GE(whole.log.size(), 4u);
  std::vector<ResumePoint> points;
  ASSERT_OK_AND_ASSIGN(const ResumeRun captured, run_whole(resume_case, &points));
  ASSERT_EQ(whole.end, captured.end) << "a checkpoint changed something";
  ASSERT_EQ(whole.log, captured.log);
  ASSERT_GE(points.size(), least_points);
  for (const ResumePoint& point : points) {
    SCOPED_TRACE(absl::StrCat("from ", point.where));
    ASSERT_OK_AND_ASSIGN(const ResumeRun rest, run_from(resume_case, point));
    ASSERT_EQ(whole.end, rest.end);
    const std::vector<std::string> log(whole.log.begin() + static_cast<ptrdiff_t>(point.logged),
                                       whole.log.end());
    ASSERT_EQ(log, rest.log);
  }
}

class ResumeTest : public testing::TestWithParam<int> {};

TEST_P(ResumeTest, IsExactFromEveryStep) {
  const ResumeCase resume_case = forty_steps(GetParam());
  expect_exact(resume_case, 40);
}

class ResumeFromFilesTest : public testing::TestWithParam<int> {};

TEST_P(ResumeFromFilesTest, IsExactFromEveryStep) {
  ResumeCase resume_case = forty_steps(GetParam());
  resume_case.files = true;
  expect_exact(resume_case, 40);
}

TEST_P(ResumeFromFilesTest, IsExactFromABucket) {
  ResumeCase resume_case = forty_steps(GetParam());
  resume_case.files = resume_case.bucket = true;
  expect_exact(resume_case, 40);
}

TEST_P(ResumeFromFilesTest, IsExactFromWhatWasWrittenLater) {
  ResumeCase resume_case = forty_steps(GetParam());
  resume_case.files = resume_case.asynchronous = true;
  expect_exact(resume_case, 40);
}

ResumeCase forty_steps_of_adam(const std::string& admission = "count { min_count: 2 }") {
  ResumeCase resume_case = forty_steps(0);
  resume_case.options.optimizer = "adam";
  EXPECT_TRUE(
      TextFormat::ParseFromString(admission, resume_case.options.table.mutable_admission()));
  return resume_case;
}

TEST(ResumeOfOtherJobsTest, OneMicroBatchAndALastBatchThatIsNotFull) {
  ResumeCase resume_case = forty_steps_of_adam();
  resume_case.options.trainer.micro_batches = 1;
  resume_case.options.train.batches = 7;
  resume_case.options.train.last_batch = 2;
  resume_case.options.gives_targets = true;
  expect_exact(resume_case, 40, {.step = 40, .epoch = 6, .skipped_steps = 6});
}

TEST(ResumeOfOtherJobsTest, TwoTasksOfWhichExamplesLackLabels) {
  ResumeCase resume_case = forty_steps_of_adam();
  resume_case.options.train.two_labels = resume_case.options.eval.two_labels = true;
  resume_case.options.trainer.tasks = {"click", "buy"};
  resume_case.options.counts_targets = true;
  expect_exact(resume_case, 40);
}

TEST(ResumeOfOtherJobsTest, EpochsThatACapCutsShort) {
  ResumeCase resume_case = forty_steps_of_adam();
  resume_case.options.trainer.max_steps_per_epoch = 4;
  expect_exact(resume_case, 40, {.step = 40, .epoch = 13, .skipped_steps = 13});
}

TEST(ResumeOfOtherJobsTest, AnEndByEpochs) {
  ResumeCase resume_case = forty_steps_of_adam();
  resume_case.options.trainer.max_steps = 0;
  resume_case.options.trainer.max_epochs = 5;
  expect_exact(resume_case, 25, {.step = 25, .epoch = 5, .skipped_steps = 5});
}

TEST(ResumeOfOtherJobsTest, AnEndByTime) {
  ResumeCase resume_case = forty_steps_of_adam();
  resume_case.options.trainer.max_steps = 0;
  resume_case.options.trainer.max_elapsed = absl::Seconds(75);  // two micro-batches a step
  expect_exact(resume_case, 30, {.step = 32, .epoch = 6, .skipped_steps = 6});
}

TEST(ResumeOfOtherJobsTest, EveryTriggerOfEvictionsAndEvaluations) {
  ResumeCase resume_case = forty_steps_of_adam("probability { probability: 0.5 }");
  resume_case.evict = {.every = absl::Seconds(7), .every_epochs = 1, .at_start = true};
  resume_case.evaluate = {.every = absl::Seconds(13), .every_epochs = 2};
  resume_case.options.trainer.report = {.every = absl::Seconds(9), .every_epochs = 1};
  expect_exact(resume_case, 40);
}

TEST(ResumeOfOtherJobsTest, CheckpointsThatOneRankAsksFor) {
  ResumeCase resume_case = forty_steps_of_adam();
  resume_case.scope = Scope::kThisRank;
  expect_exact(resume_case, 40);
}

TEST(ResumeOfOtherJobsTest, SchedulesThatFollowReportsAndEvaluations) {
  ResumeCase resume_case = forty_steps_of_adam();
  resume_case.evaluate = {.every_steps = 4};
  const std::string plateau = "factor: 0.5 patience: 0 cooldown: 1";
  ASSERT_TRUE(TextFormat::ParseFromString(
      absl::StrCat("reduce_on_plateau { monitor: 'train/loss' ", plateau, " }"),
      resume_case.options.dense_optimizer->mutable_schedule()));
  ASSERT_TRUE(TextFormat::ParseFromString(
      absl::StrCat("reduce_on_plateau { monitor: 'eval/loss' ", plateau, " }"),
      resume_case.options.sparse_optimizer->mutable_schedule()));
  expect_exact(resume_case, 40);
}

TEST(ResumeOfOtherJobsTest, LimitsOfATable) {
  ResumeCase resume_case = forty_steps_of_adam("count { min_count: 2 sketch { capacity: 20 } }");
  ASSERT_TRUE(TextFormat::ParseFromString("max_rows: 30 on_full: EVICT_LRU evict_to: 0.6",
                                          resume_case.options.table.mutable_limit()));
  expect_exact(resume_case, 40);
}

// A request of a rank is pending for a step, and checkpoints are made in this time.
ResumeCase evaluations_of_one_rank(ResumeCase resume_case) {
  resume_case.on_event = [](HookContext& context, absl::string_view event) {
    const int64_t step = context.progress().step;
    const bool due =
        (event == "after_step" && step % 4 == 2) || (event == "before_step" && step % 7 == 3) ||
        (event == "after_epoch" && context.progress().epoch % 2 == 1) || event == "after_window";
    if (due && context.phase() == Phase::kTrain) {
      context.requests().evaluate("", Scope::kThisRank);
    }
    return absl::OkStatus();
  };
  return resume_case;
}

TEST(ResumeOfOtherJobsTest, EvaluationsThatOneRankAskedFor) {
  expect_exact(evaluations_of_one_rank(forty_steps_of_adam()), 40);
}

TEST(ResumeOfOtherJobsTest, AndCheckpointsToo) {
  ResumeCase resume_case = evaluations_of_one_rank(forty_steps_of_adam());
  resume_case.scope = Scope::kThisRank;
  resume_case.options.trainer.max_steps_per_epoch = 4;
  expect_exact(resume_case, 40, {.step = 40, .epoch = 13, .skipped_steps = 13});
}

// A result of an evaluation that was not served at the checkpoint is served after the resume,
// before another step.
TEST(ResumeOfOtherJobsTest, AStopThatAnEvaluationLeadsTo) {
  ResumeCase resume_case = forty_steps_of_adam();
  resume_case.on_event = [](HookContext& context, absl::string_view event) {
    if (event == "after_evaluate" && context.progress().step >= 27) {
      context.requests().stop("enough");
    }
    return absl::OkStatus();
  };
  expect_exact(resume_case, 27, {.step = 27, .epoch = 5, .skipped_steps = 5});
}

// Observations of early stopping, and its decision, equal the observations of an unbroken run.
ResumeCase stopping_early(ResumeCase resume_case, const std::string& text) {
  resume_case.evaluate = {.every_steps = 3};
  resume_case.options.trainer.report = {.every_steps = 4};
  EXPECT_TRUE(TextFormat::ParseFromString(text, &resume_case.early_stopping.emplace()));
  return resume_case;
}

TEST(ResumeOfOtherJobsTest, EarlyStoppingByAnEvaluation) {
  expect_exact(stopping_early(forty_steps_of_adam(),
                              "monitor: 'eval/loss' patience: 3 min_change: 0.1 warmup: 1"),
               15, {.step = 15, .epoch = 2, .skipped_steps = 3});
  expect_exact(
      stopping_early(forty_steps_of_adam(), "monitor: 'eval/calibration' mode: MAX patience: 4"),
      18, {.step = 18, .epoch = 3, .skipped_steps = 4});
}

TEST(ResumeOfOtherJobsTest, EarlyStoppingByReports) {
  expect_exact(stopping_early(forty_steps_of_adam(), "monitor: 'train/ne' patience: 2"), 36,
               {.step = 36, .epoch = 7, .skipped_steps = 7});
}

// The best score and its step equal the best score of an unbroken run.
ResumeCase keeping_best(ResumeCase resume_case) {
  resume_case.evaluate = {.every_steps = 3};
  resume_case.best = {.terms = {{"eval/loss"}, {"eval/logloss", 2}}, .higher_is_better = false};
  return resume_case;
}

TEST(ResumeOfOtherJobsTest, TheBestScore) {
  expect_exact(keeping_best(forty_steps_of_adam()), 40);
  ResumeCase resume_case = keeping_best(evaluations_of_one_rank(forty_steps_of_adam()));
  expect_exact(resume_case, 40);
}

// Compares the whole run with a run that a rank stops at each event and another run resumes.
void expect_exact_after_stops(const ResumeCase& resume_case, int64_t least_events) {
  ASSERT_OK_AND_ASSIGN(const ResumeRun whole, run_whole(resume_case, nullptr));
  for (int64_t event = 1;; ++event) {
    SCOPED_TRACE(absl::StrCat("stopped at event ", event));
    std::vector<ResumePoint> points;
    ASSERT_OK_AND_ASSIGN(ResumeRun stopped, run_stopped(resume_case, event, &points));
    if (stopped.end == whole.end) {  // no such event exists, or nothing follows it
      ASSERT_EQ(stopped.log, whole.log);
      ASSERT_GE(event, least_events);
      return;
    }
    // A run without a step leaves nothing.
    ASSERT_OK_AND_ASSIGN(const ResumeRun rest, points.empty()
                                                   ? run_whole(resume_case, nullptr)
                                                   : run_from(resume_case, points.back()));
    stopped.log.insert(stopped.log.end(), rest.log.begin(), rest.log.end());
    ASSERT_EQ(stopped.log, whole.log);
    ASSERT_EQ(rest.end, whole.end);
  }
}

ResumeCase ten_steps_with_evaluations() {
  ResumeCase resume_case = forty_steps_of_adam();
  resume_case.options.trainer.max_steps = 10;
  resume_case.evaluate = {.every_steps = 3};
  resume_case.on_event = [](HookContext& context, absl::string_view event) {
    if (event == "start") context.requests().evaluate_at_end();
    return absl::OkStatus();
  };
  return resume_case;
}

TEST(ResumeAfterStopsTest, ReportsAndEvaluationsAreThoseOfAnUnbrokenRun) {
  expect_exact_after_stops(ten_steps_with_evaluations(), 80);
}

TEST(ResumeAfterStopsTest, NorIsWhatOneRankAskedForCutOff) {
  expect_exact_after_stops(evaluations_of_one_rank(ten_steps_with_evaluations()), 60);
}

TEST(ResumeAfterStopsTest, AStopOfAllRanksIsNotForgotten) {
  ResumeCase resume_case = ten_steps_with_evaluations();
  resume_case.on_event = [](HookContext& context, absl::string_view event) {
    if (event == "after_step" && context.phase() == Phase::kTrain && context.progress().step == 6) {
      context.requests().stop("enough");
    }
    return absl::OkStatus();
  };
  expect_exact_after_stops(resume_case, 40);
}

TEST(ResumeAfterStopsTest, EarlyStoppingDecidesAsInAnUnbrokenRun) {
  expect_exact_after_stops(stopping_early(ten_steps_with_evaluations(),
                                          "monitor: 'eval/loss' patience: 1 min_change: 0.1"),
                           40);
}

TEST(ResumeAfterStopsTest, TheBestScoreIsThatOfAnUnbrokenRun) {
  expect_exact_after_stops(keeping_best(ten_steps_with_evaluations()), 80);
}

// Windows that are late or empty, or have a refused step.
ResumeCase windows() {
  ResumeCase resume_case = forty_steps_of_adam();
  resume_case.windows = {{6, 0},  {8, 3}, {0, 0},  {2, 1}, {12, 0}, {0, 4},
                         {10, 2}, {4, 0}, {20, 0}, {9, 1}, {0, 0}};
  resume_case.options.trainer.max_steps = 0;
  resume_case.options.trainer.max_epochs = 1;
  resume_case.options.table.mutable_eviction()->set_idle_windows(2);
  resume_case.evict = {.every_steps = 3, .every_windows = 1};
  resume_case.evaluate = {.every_steps = 9, .every_windows = 3};
  return resume_case;
}

TEST(ResumeOfWindowsTest, IsExactFromEveryServingPoint) {
  expect_exact(windows(), 40, {.step = 30, .epoch = 1, .window = 11, .skipped_steps = 6});
}

TEST(ResumeOfWindowsTest, IsExactInFloat16) {
  ResumeCase resume_case = windows();
  ASSERT_TRUE(TextFormat::ParseFromString(kPrecisions[2], &resume_case.options.trainer.precision));
  expect_exact(resume_case, 40, {.step = 30, .epoch = 1, .window = 11, .skipped_steps = 6});
}

TEST(ResumeOfWindowsTest, EvaluationsThatOneRankAskedFor) {
  expect_exact(evaluations_of_one_rank(windows()), 40,
               {.step = 30, .epoch = 1, .window = 11, .skipped_steps = 6});
}

TEST(ResumeOfWindowsTest, WhileAWindowIsWaitedForToo) {
  ResumeCase resume_case = windows();
  resume_case.scope = Scope::kThisRank;
  expect_exact(resume_case, 40, {.step = 30, .epoch = 1, .window = 11, .skipped_steps = 6});
}

TEST(ResumeOfWindowsTest, WindowsThatACapCutsShort) {
  ResumeCase resume_case = windows();
  resume_case.options.trainer.max_steps_per_window = 4;
  resume_case.options.trainer.max_windows = 9;
  expect_exact(resume_case, 20, {.step = 17, .epoch = 0, .window = 9, .skipped_steps = 5});
}

TEST(ResumeOfWindowsTest, EpochsThatContinueTheStream) {
  ResumeCase resume_case = windows();
  resume_case.options.trainer.max_windows_per_epoch = 3;
  resume_case.options.trainer.max_epochs = 0;
  expect_exact(resume_case, 40, {.step = 30, .epoch = 4, .window = 11, .skipped_steps = 6});
}

TEST(ResumeOfWindowsTest, EpochsThatBeginTheListAgain) {
  ResumeCase resume_case = windows();
  resume_case.windows = {{6, 0}, {8, 0}, {2, 0}};
  resume_case.windows_restart = true;
  resume_case.options.trainer.max_epochs = 3;
  expect_exact(resume_case, 20, {.step = 18, .epoch = 3, .window = 9, .skipped_steps = 6});
}

// Cadences of a share of the steps, and after a first point.
TEST(ResumeOfCadencesTest, SharesAndFirstPoints) {
  ResumeCase resume_case = forty_steps_of_adam();
  resume_case.options.trainer.total_steps = 40;
  resume_case.options.trainer.report = {.at_end = true, .every_share = 0.15};
  resume_case.evaluate = {.every_steps = 4, .after_steps = 13};
  expect_exact(resume_case, 20);
}

INSTANTIATE_TEST_SUITE_P(AllOptimizersAndDtypes, ResumeTest, testing::Range(0, 35 * 3));
// Runs every sparse optimizer with every dtype.
INSTANTIATE_TEST_SUITE_P(AllRows, ResumeFromFilesTest, testing::Range(0, 35 * 3, 5));

}  // namespace
}  // namespace millrace
