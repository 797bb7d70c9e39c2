#include "config/training_totals.h"

#include <google/protobuf/text_format.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace millrace {
namespace {

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
