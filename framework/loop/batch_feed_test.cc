#include "framework/loop/batch_feed.h"

#include <ATen/core/Tensor.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <stdexcept>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/failure_kind.h"
#include "base/status_matchers.h"
#include "distributed/one_rank_collectives.h"
#include "tests/fakes/fake_dataset.h"
#include "tests/fakes/hanging_dataset.h"

namespace millrace {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// One of two ranks, for a feed that sends no messages.
class OneOfTwoRanks : public OneRankCollectives {
 public:
  int world_size() const override { return 2; }
};

class BatchFeedTest : public testing::Test {
 protected:
  BatchFeed feed(Dataset& data, int64_t micro_batches = 1) {
    EXPECT_OK(data.start_epoch(0));
    return {{.micro_batches = micro_batches}, &data, loop_, alone_, clock_};
  }
  FakeClock clock_;
  LoopState loop_;
  OneRankCollectives alone_;
};

TEST_F(BatchFeedTest, AStepHasItsMicroBatches) {
  FakeDataset data({.batches = 5, .batch_size = 3});
  BatchFeed feed = this->feed(data, 2);
  for (const int64_t examples : {6, 6, 3}) {
    ASSERT_OK_AND_ASSIGN(const std::unique_ptr<StepData> step, feed.next_step());
    ASSERT_NE(step, nullptr);
    EXPECT_EQ(step->examples, examples);
    EXPECT_EQ(step->micro_batches.size(), static_cast<size_t>(examples / 3));
  }
  ASSERT_OK_AND_ASSIGN(const std::unique_ptr<StepData> none, feed.next_step());
  EXPECT_EQ(none, nullptr);
}

TEST_F(BatchFeedTest, RanksHaveAsManyMicroBatches) {
  FakeDataset data({.batches = 1, .batch_size = 3});
  ASSERT_OK(data.start_epoch(0));
  OneOfTwoRanks ranks;
  BatchFeed feed({.micro_batches = 3}, &data, loop_, ranks, clock_);
  ASSERT_OK_AND_ASSIGN(const std::unique_ptr<StepData> step, feed.next_step());
  ASSERT_NE(step, nullptr);
  EXPECT_EQ(step->examples, 3);
  ASSERT_EQ(step->micro_batches.size(), 3);
  EXPECT_EQ(step->micro_batches[2].size, 0);
  EXPECT_EQ(step->micro_batches[2].cursor, step->micro_batches[0].cursor);
}

TEST_F(BatchFeedTest, PaddingStandsWhereTheOthersStand) {
  FakeDataset data({.batches = 1});
  BatchFeed feed = this->feed(data, 2);
  loop_.position.progress.epoch = 4;
  loop_.position.window = {.index = 2, .stream = "here"};
  ASSERT_OK(feed.next_step());
  const std::unique_ptr<StepData> step = feed.padding();
  EXPECT_EQ(step->examples, 0);
  ASSERT_EQ(step->micro_batches.size(), 2);
  EXPECT_EQ(step->micro_batches[0].size, 0);
  EXPECT_EQ(step->micro_batches[0].cursor.epoch, 4);
  EXPECT_EQ(step->micro_batches[0].cursor.stream->bytes, "here");
  EXPECT_THAT(step->micro_batches[0].cursor.rows_left(), IsEmpty());
}

// Data of window 2 with a fingerprint of its order.
class OfWindow2 : public FakeDataset {
 public:
  OfWindow2() : FakeDataset({.dense = 3}) {}
  absl::StatusOr<std::optional<Batch>> next() override {
    absl::StatusOr<std::optional<Batch>> batch = FakeDataset::next();
    (*batch)->cursor.stream = {.window = 2};
    (*batch)->cursor.fingerprint = 7;
    return batch;
  }
};

TEST_F(BatchFeedTest, PaddingHasTheFingerprintOfItsOwnWindow) {
  OfWindow2 data;
  BatchFeed feed = this->feed(data);
  loop_.position.window.emplace().index = 2;
  ASSERT_OK(feed.next_step());
  EXPECT_EQ(feed.padding()->micro_batches[0].cursor.fingerprint, 7);
  loop_.position.window->index = 3;
  EXPECT_EQ(feed.padding()->micro_batches[0].cursor.fingerprint, 0);
}

TEST_F(BatchFeedTest, PaddingHasTheShapesOfTheLastBatch) {
  OfWindow2 data;
  ASSERT_OK(data.start_epoch(0));
  BatchFeed feed({.tasks = 2}, &data, loop_, alone_, clock_);
  EXPECT_EQ(feed.padding()->micro_batches[0].labels.size(1), 2) << "no batch is known";
  ASSERT_OK(feed.next_step());
  EXPECT_EQ(feed.padding()->micro_batches[0].dense.size(0), 0);
  EXPECT_EQ(feed.padding()->micro_batches[0].dense.size(1), 3);
}

TEST_F(BatchFeedTest, ADatasetThatThrowsIsAFailedPart) {
  class Throwing : public FakeDataset {
   public:
    Throwing() : FakeDataset({}) {}
    absl::StatusOr<std::optional<Batch>> next() override { throw std::runtime_error("boom"); }
  };
  Throwing data;
  BatchFeed feed = this->feed(data);
  const absl::Status status = feed.next_step().status();
  EXPECT_THAT(status, StatusIs(absl::StatusCode::kInternal, HasSubstr("the dataset: boom")));
  EXPECT_EQ(kind_of(status), FailureKind::kPart);
}

TEST_F(BatchFeedTest, TheRestIsCountedForAWhile) {
  // Reads one batch per second.
  class Slow : public FakeDataset {
   public:
    Slow(FakeClock& clock) : FakeDataset({.batches = 5, .batch_size = 3}), clock_(clock) {}
    absl::StatusOr<std::optional<Batch>> next() override {
      clock_.advance(absl::Seconds(1));
      return FakeDataset::next();
    }

   private:
    FakeClock& clock_;
  };
  Slow data(clock_);
  BatchFeed feed = this->feed(data);
  int64_t examples = 100;
  ASSERT_OK_AND_ASSIGN(bool more, feed.count_rest(absl::Seconds(2), &examples));
  EXPECT_TRUE(more);
  EXPECT_EQ(examples, 106);
  ASSERT_OK_AND_ASSIGN(more, feed.count_rest(absl::Seconds(10), &examples));
  EXPECT_FALSE(more);
  EXPECT_EQ(examples, 115);
}

TEST_F(BatchFeedTest, ErrorsSayWhatWasRead) {
  FakeDataset data({.fail_at = 0});
  BatchFeed feed = this->feed(data);
  loop_.position.progress.step = 7;
  EXPECT_THAT(feed.next_step().status().message(), HasSubstr("reading data after step 7"));
}

TEST_F(BatchFeedTest, AWaitThatIsInterruptedIsNoError) {
  HangingDataset data(0);
  ASSERT_OK(data.start_epoch(0));
  BatchFeed feed({.data_timeout = absl::Hours(1), .stop_waiting = [&] { return data.hangs(); }},
                 &data, loop_, alone_, clock_);
  ASSERT_OK_AND_ASSIGN(const std::unique_ptr<StepData> step, feed.next_step());
  EXPECT_EQ(step, nullptr);
  EXPECT_TRUE(feed.interrupted());
  EXPECT_TRUE(feed.gave_up());
  int64_t examples = 0;
  ASSERT_OK_AND_ASSIGN(const bool more, feed.count_rest(absl::Seconds(1), &examples));
  EXPECT_TRUE(more) << "it does not know";
  feed.begin_run();
  EXPECT_FALSE(feed.interrupted());
}

// The exchange that follows reports the failure.
TEST_F(BatchFeedTest, AFailureOfAnotherRankInterruptsAWait) {
  HangingDataset data(0, [this] { alone_.fail(absl::AbortedError("planted")); });
  BatchFeed feed = this->feed(data);
  ASSERT_OK_AND_ASSIGN(const std::unique_ptr<StepData> step, feed.next_step());
  EXPECT_EQ(step, nullptr);
  EXPECT_TRUE(feed.interrupted());
  EXPECT_FALSE(feed.time_is_up());
}

TEST_F(BatchFeedTest, TimeEndsWaitsForTrainingAlone) {
  HangingDataset data(1);
  ASSERT_OK(data.start_epoch(0));
  BatchFeed feed({.data_timeout = absl::Seconds(3), .time_left = [] { return absl::Seconds(1); }},
                 &data, loop_, alone_, clock_);
  ASSERT_OK(feed.next_step());
  EXPECT_FALSE(feed.time_is_up());
  ASSERT_OK_AND_ASSIGN(const std::unique_ptr<StepData> step, feed.next_step());
  EXPECT_EQ(step, nullptr);
  EXPECT_TRUE(feed.interrupted());
  EXPECT_TRUE(feed.time_is_up());
  EXPECT_OK(feed.check_interruption());
  HangingDataset evaluated(0);
  EXPECT_THAT(feed.read(evaluated, RankPhase::kEvaluation),
              StatusIs(absl::StatusCode::kUnavailable));
}

TEST_F(BatchFeedTest, ASourceThatHangsIsAnError) {
  HangingDataset data(0);
  ASSERT_OK(data.start_epoch(0));
  BatchFeed feed({.data_timeout = absl::Milliseconds(20)}, &data, loop_, alone_, clock_);
  EXPECT_THAT(feed.next_step(), StatusIs(absl::StatusCode::kUnavailable));
  EXPECT_TRUE(feed.gave_up());
  EXPECT_FALSE(feed.interrupted());
}

using Counts = std::vector<std::vector<int64_t>>;

// Counts targets as the test specifies, batch by batch; the last count repeats.
class CountingModel : public Model {
 public:
  explicit CountingModel(Counts counts) : counts_(std::move(counts)) {}
  absl::StatusOr<ModelOutput> forward(const Batch&) override { return ModelOutput(); }
  absl::StatusOr<std::vector<int64_t>> count_targets(const Batch&) override {
    const size_t call = calls_ < counts_.size() ? calls_ : counts_.size() - 1;
    ++calls_;
    return counts_[call];
  }

 private:
  const Counts counts_;
  size_t calls_ = 0;
};

class CountedFeedTest : public testing::Test {
 protected:
  CountedFeedTest() { EXPECT_OK(data_.start_epoch(0)); }
  CountedFeed counted(Model& model, size_t tasks) { return CountedFeed(feed_, model, tasks); }

  FakeClock clock_;
  LoopState loop_;
  OneRankCollectives alone_;
  FakeDataset data_{{.batches = 4, .batch_size = 3}};
  BatchFeed feed_{{.micro_batches = 2}, &data_, loop_, alone_, clock_};
};

TEST_F(CountedFeedTest, TargetsAreSummedOverMicroBatches) {
  CountingModel model(Counts{{3}, {2}, {1}});
  CountedFeed feed = counted(model, 1);
  ASSERT_OK_AND_ASSIGN(std::unique_ptr<StepData> step, feed.next_step());
  EXPECT_THAT(step->targets, ElementsAre(5));
  ASSERT_OK_AND_ASSIGN(step, feed.next_step());
  EXPECT_THAT(step->targets, ElementsAre(2));
  ASSERT_OK_AND_ASSIGN(step, feed.next_step());
  EXPECT_EQ(step, nullptr);
}

TEST_F(CountedFeedTest, PaddingIsCountedToo) {
  CountingModel model(Counts{{0}});
  CountedFeed feed = counted(model, 1);
  ASSERT_OK_AND_ASSIGN(const std::unique_ptr<StepData> step, feed.padding());
  EXPECT_EQ(step->examples, 0);
  EXPECT_THAT(step->targets, ElementsAre(0));
}

TEST_F(CountedFeedTest, AModelThatCountsNoneHasNoTargets) {
  CountingModel model(Counts{{}});
  CountedFeed feed = counted(model, 2);
  ASSERT_OK_AND_ASSIGN(const std::unique_ptr<StepData> step, feed.next_step());
  EXPECT_THAT(step->targets, IsEmpty());
}

TEST_F(CountedFeedTest, AllBatchesCountAlike) {
  CountingModel model(Counts{{1}, {2}, {}});
  CountedFeed feed = counted(model, 1);
  ASSERT_OK(feed.next_step());
  EXPECT_THAT(feed.next_step().status(),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("of 0 tasks in one batch")));
}

TEST_F(CountedFeedTest, TheNumberOfTasksIsThatOfTheLabels) {
  CountingModel model(Counts{{1}});
  CountedFeed feed = counted(model, 2);
  EXPECT_THAT(feed.next_step().status(),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("must be those of 2 tasks")));
}

}  // namespace
}  // namespace millrace
