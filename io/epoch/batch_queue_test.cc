#include "io/epoch/batch_queue.h"

#include <atomic>
#include <latch>
#include <memory>
#include <new>
#include <stdexcept>
#include <thread>

#include "base/failure_kind.h"
#include "base/status_matchers.h"

namespace millrace {
namespace {

using ::testing::HasSubstr;

// Batches of sizes 1 to `count`, then none.
BatchQueue::NextBatch counting(int64_t count, std::atomic<int64_t>* made) {
  return [count, made]() -> absl::StatusOr<std::optional<Batch>> {
    if (*made == count) return std::nullopt;
    Batch batch;
    batch.size = ++*made;
    return batch;
  };
}

TEST(BatchQueueTest, HandsOutInOrderAndEndsForGood) {
  for (const int64_t capacity : {1, 3, 100}) {
    std::atomic<int64_t> made = 0;
    BatchQueue queue(capacity, counting(20, &made));
    for (int64_t i = 1; i <= 20; ++i) {
      ASSERT_OK_AND_ASSIGN(const std::optional<Batch> batch, queue.next());
      ASSERT_TRUE(batch.has_value());
      EXPECT_EQ(batch->size, i);
      EXPECT_LE(made, i + capacity + 1);
    }
    for (int i = 0; i < 3; ++i) {
      ASSERT_OK_AND_ASSIGN(const std::optional<Batch> end, queue.next());
      EXPECT_FALSE(end.has_value());
    }
  }
}

TEST(BatchQueueTest, AnErrorComesAgain) {
  BatchQueue queue(2, [] { return absl::DataLossError("bad"); });
  EXPECT_THAT(queue.next(), StatusIs(absl::StatusCode::kDataLoss, HasSubstr("bad")));
  EXPECT_THAT(queue.next(), StatusIs(absl::StatusCode::kDataLoss, HasSubstr("bad")));
}

TEST(BatchQueueTest, ExceptionsBecomeErrors) {
  BatchQueue full(2, []() -> absl::StatusOr<std::optional<Batch>> { throw std::bad_alloc(); });
  EXPECT_THAT(full.next(), StatusIs(absl::StatusCode::kResourceExhausted));
  BatchQueue odd(2,
                 []() -> absl::StatusOr<std::optional<Batch>> { throw std::runtime_error("odd"); });
  EXPECT_THAT(odd.next(), StatusIs(absl::StatusCode::kInternal, HasSubstr("odd")));
  EXPECT_EQ(kind_of(odd.next().status()), FailureKind::kPart);
}

TEST(BatchQueueTest, CancelWakesNext) {
  std::latch asked(1), go_on(1);
  BatchQueue queue(2, [&]() -> absl::StatusOr<std::optional<Batch>> {
    asked.count_down();
    go_on.wait();
    return std::nullopt;
  });
  std::thread canceller([&] {
    asked.wait();
    queue.cancel();
  });
  EXPECT_THAT(queue.next(), StatusIs(absl::StatusCode::kCancelled));
  canceller.join();
  go_on.count_down();
}

TEST(BatchQueueTest, EndsWhileFull) {
  std::atomic<int64_t> made = 0;
  BatchQueue queue(1, counting(100, &made));
  ASSERT_OK(queue.next());
}

}  // namespace
}  // namespace millrace
