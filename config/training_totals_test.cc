#include "config/training_totals.h"

#include <gtest/gtest.h>

namespace millrace {
namespace {

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

}  // namespace
}  // namespace millrace
