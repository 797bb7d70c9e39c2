#include "framework/loop/counted_feed.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/status_matchers.h"
#include "distributed/one_rank_collectives.h"
#include "tests/fakes/fake_dataset.h"

namespace millrace {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

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
