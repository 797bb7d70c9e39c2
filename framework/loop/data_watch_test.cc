#include "framework/loop/data_watch.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/status_matchers.h"
#include "tests/fakes/fake_dataset.h"
#include "tests/fakes/hanging_dataset.h"

namespace millrace {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

TEST(DataWatch, GivesWhatTheDatasetGives) {
  FakeDataset data({.batches = 3, .batch_size = 5});
  DataWatch watch(absl::Hours(1));
  ASSERT_OK(data.start_epoch(0));
  for (int i = 0; i < 3; ++i) {
    ASSERT_OK_AND_ASSIGN(const std::optional<Batch> batch, watch.next(data));
    ASSERT_TRUE(batch.has_value());
    EXPECT_EQ(batch->size, 5);
  }
  ASSERT_OK_AND_ASSIGN(const std::optional<Batch> none, watch.next(data));
  EXPECT_FALSE(none.has_value());
}

TEST(DataWatch, CancelsADatasetThatHangs) {
  HangingDataset data(2);
  DataWatch watch(absl::Milliseconds(20));
  ASSERT_OK(data.start_epoch(0));
  ASSERT_OK(watch.next(data));
  ASSERT_OK(watch.next(data));
  EXPECT_THAT(watch.next(data), StatusIs(absl::StatusCode::kUnavailable,
                                         AllOf(HasSubstr("no batch came for 20ms"),
                                               HasSubstr("it waits for data/part-3.orc"))));
  EXPECT_TRUE(watch.gave_up());
}

// An interruption cancels the dataset long before the time-out, but only during a wait.
TEST(DataWatch, CancelsADatasetThatHangsWhenItIsInterrupted) {
  HangingDataset data(2);
  DataWatch watch(absl::Hours(1), [&] { return data.hangs(); });
  ASSERT_OK(data.start_epoch(0));
  ASSERT_OK(watch.next(data));
  ASSERT_OK(watch.next(data));
  EXPECT_FALSE(watch.gave_up());
  EXPECT_THAT(watch.next(data), StatusIs(absl::StatusCode::kCancelled));
  EXPECT_TRUE(watch.gave_up());
}

TEST(DataWatch, CancelsADatasetThatHangsWhenNoTimeIsLeft) {
  for (const absl::Duration left : {absl::Milliseconds(20), -absl::Seconds(1)}) {
    HangingDataset data(1);
    DataWatch watch(absl::Hours(1));
    ASSERT_OK(data.start_epoch(0));
    ASSERT_OK(watch.next(data, left));
    EXPECT_FALSE(watch.exceeded());
    EXPECT_THAT(watch.next(data, left), StatusIs(absl::StatusCode::kCancelled));
    EXPECT_TRUE(watch.exceeded());
  }
}

TEST(DataWatch, LeavesTheDatasetsOwnErrorsAlone) {
  FakeDataset data({.batches = 3, .fail_at = 0});
  FakeDataset cancelled({.batches = 3});
  DataWatch watch(absl::Hours(1));
  ASSERT_OK(data.start_epoch(0));
  EXPECT_FALSE(watch.next(data).ok());
  ASSERT_OK(cancelled.start_epoch(0));
  cancelled.cancel();
  EXPECT_THAT(watch.next(cancelled), StatusIs(absl::StatusCode::kCancelled));
}

}  // namespace
}  // namespace millrace
