#include "config/training_size.h"

#include <google/protobuf/text_format.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "base/status_matchers.h"

namespace millrace {
namespace {

using ::testing::HasSubstr;

TrainConfig global(int64_t examples, int64_t most = 0) {
  TrainConfig train;
  train.set_global_batch_size(examples);
  if (most > 0) train.set_max_micro_batch_size(most);
  return train;
}

TEST(StepSizeTest, IsAsConfiguredWithoutAGlobalSize) {
  TrainConfig train;
  train.mutable_train_data()->set_batch_size(100);
  train.set_micro_batches(3);
  EXPECT_OK(check_step_size("train", train));
  EXPECT_EQ(*step_size(train, 4), (StepSize{100, 3}));
}

TEST(StepSizeTest, RanksAndMicroBatchesMultiplyToTheGlobalSize) {
  EXPECT_EQ(*step_size(global(8192), 1), (StepSize{8192, 1}));
  EXPECT_EQ(*step_size(global(8192), 8), (StepSize{1024, 1}));
  EXPECT_EQ(*step_size(global(8192, 2048), 1), (StepSize{2048, 4}));
  EXPECT_EQ(*step_size(global(8192, 2048), 2), (StepSize{2048, 2}));
  EXPECT_EQ(*step_size(global(8192, 3000), 1), (StepSize{2048, 4}));
  EXPECT_EQ(*step_size(global(6, 1), 2), (StepSize{1, 3}));
  EXPECT_EQ(*step_size(global(8192, 2147483647), 1), (StepSize{8192, 1}));
  for (int64_t ranks = 1; ranks <= 16; ++ranks) {
    for (int64_t most = 1; most <= 240; ++most) {
      const auto size = step_size(global(240, most), ranks);
      if (!size.ok()) continue;
      EXPECT_EQ(size->batch_size * size->micro_batches * ranks, 240);
      EXPECT_LE(size->batch_size, most);
    }
  }
}

TEST(StepSizeTest, RefusesSizesThatDoNotDivide) {
  const auto fails = [](const TrainConfig& train, int64_t ranks, const std::string& what) {
    EXPECT_THAT(step_size(train, ranks),
                StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr(what)));
  };
  fails(global(8192), 3, "which 3 ranks do not divide; the nearest are 8190 and 8193");
  fails(global(2), 3, "the nearest are 3");
  fails(global(1021, 512), 1,
        "only into micro-batches below half of that; choose a global_batch_size");
}

TEST(StepSizeTest, AnEpochHasTheStepsThatItsRanksHaveDataFor) {
  struct Case {
    const char* change;
    StepSize step;
    int64_t ranks;
    int64_t examples;
    EpochSize expected;
  };
  for (const Case& c :
       std::vector<Case>{{"", {10, 1}, 1, 101, {11, 101}},
                         {"", {10, 1}, 1, 100, {10, 100}},
                         {"", {10, 3}, 1, 101, {4, 101}},
                         {"train_data { drop_remainder: true }", {10, 1}, 1, 109, {10, 100}},
                         // Micro-batches are dropped, and a step may have fewer of them.
                         {"train_data { drop_remainder: true }", {10, 3}, 1, 109, {4, 100}},
                         {"max_steps_per_epoch: 7", {10, 1}, 1, 101, {7, 70}},
                         {"max_steps_per_epoch: 70", {10, 1}, 1, 101, {11, 101}},
                         // Ranks 0 and 1 have 50 and 51 examples.
                         {"", {10, 1}, 2, 101, {6, 101}},
                         {"uneven_data: UNTIL_FIRST", {10, 1}, 2, 101, {5, 100}},
                         {"train_data { drop_remainder: true }", {51, 1}, 2, 101, {1, 51}},
                         {"train_data { drop_remainder: true } uneven_data: UNTIL_FIRST",
                          {51, 1},
                          2,
                          101,
                          {0, 0}},
                         {"", {10, 1}, 2, 0, {0, 0}}}) {
    TrainConfig train;
    ASSERT_TRUE(google::protobuf::TextFormat::ParseFromString(c.change, &train));
    EXPECT_EQ(epoch_size(train, c.step, c.ranks, c.examples), c.expected)
        << c.change << " " << c.examples << " examples, " << c.ranks << " ranks";
  }
}

TEST(StepSizeTest, RefusesWhatContradictsTheGlobalSize) {
  const auto fails = [](const TrainConfig& train, const std::string& what) {
    EXPECT_THAT(check_step_size("train", train),
                StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr(what)));
  };
  TrainConfig train = global(64);
  EXPECT_OK(check_step_size("train", train));
  train.set_micro_batches(2);
  fails(train, "train: global_batch_size determines micro_batches");
  train = global(64);
  train.mutable_train_data()->set_batch_size(8);
  fails(train, "give it or them");
  train = global(64);
  train.mutable_train_data()->set_batch_size(512);
  train.set_micro_batches(1);
  EXPECT_OK(check_step_size("train", train)) << "defaults that are written out";
  fails(global(int64_t{1} << 40), "global_batch_size is 1099511627776; must be");
  train = TrainConfig();
  train.set_max_micro_batch_size(8);
  fails(train, "train: max_micro_batch_size needs global_batch_size");
  fails(global(-1), "global_batch_size is -1; must be 0 to 2147483647");
}

TrainConfig parse(const std::string& text) {
  TrainConfig train;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(text, &train)) << text;
  return train;
}

TEST(TrainingTotalsTest, AreTheLimitsThatAreSet) {
  TrainConfig train;
  EXPECT_EQ(training_totals(train).epochs, 1) << "the default";
  EXPECT_FALSE(training_totals(train).steps.has_value());
  EXPECT_FALSE(training_totals(train).windows.has_value());
  EXPECT_FALSE(training_totals(train).examples.has_value());
  train.set_max_steps(100);
  train.set_max_epochs(0);
  EXPECT_EQ(training_totals(train).steps, 100);
  EXPECT_FALSE(training_totals(train).epochs.has_value());
}

TEST(TrainingTotalsTest, DataInWindowsHasNoEpochs) {
  TrainConfig train;
  train.mutable_train_data()->mutable_windows()->mutable_list();
  EXPECT_FALSE(training_totals(train).epochs.has_value());
  train.set_max_windows(7);
  EXPECT_EQ(training_totals(train).windows, 7);
}

TEST(TrainingTotalsTest, StepsAndExamplesOfFilesAreThoseOfAllEpochs) {
  struct Case {
    const char* change;
    bool needs_size;
  };
  const std::string share = "optimizer { schedule { cosine { length { share: 1 } } } }";
  for (const auto& [change, needs_size] :
       std::vector<Case>{{"", true},
                         {"optimizer { schedule { unit: EXAMPLES } }", true},
                         {"optimizer { schedule { unit: EPOCHS } }", false},
                         {"optimizer { schedule { cosine { length { count: 5 } } } }", false},
                         {"max_steps: 100", false},
                         {"max_epochs: 0", false},
                         {"train_data { windows { list {} } }", false},
                         {"train_data { mix {} }", false},
                         {"train_data { custom_dataset { name: 'own' } }", false}}) {
    TrainConfig train = parse(share + " max_epochs: 4");
    train.MergeFrom(parse(change));
    EXPECT_EQ(needs_epoch_size(train), needs_size) << change;
    if (!needs_size) continue;
    EXPECT_FALSE(training_totals(train).steps.has_value());
    const ScheduleTotals totals = training_totals(train, {.steps = 5, .examples = 48});
    EXPECT_EQ(totals.steps, 20);
    EXPECT_EQ(totals.examples, 192);
    EXPECT_EQ(totals.epochs, 4);
    EXPECT_FALSE(totals.counted_at_start);
    EXPECT_FALSE(training_totals(train, {.steps = int64_t{1} << 62}).steps.has_value());
  }
}

}  // namespace
}  // namespace millrace
