#include "io/epoch/block_queue.h"

#include <atomic>
#include <latch>
#include <memory>
#include <new>
#include <stdexcept>
#include <thread>
#include <utility>

#include "base/failure_kind.h"
#include "base/status_matchers.h"

namespace millrace {
namespace {

using ::testing::HasSubstr;

absl::StatusOr<Block> block_of(int64_t task) {
  Block block;
  block.example_ids = {task};
  return block;
}

TEST(BlockQueueTest, KeepsTheOrderForAnyNumberOfThreads) {
  for (const int threads : {1, 2, 7}) {
    BlockQueue queue(50, threads, [] {
      return [](int64_t task, const std::atomic<bool>&) { return block_of(task); };
    });
    for (int64_t i = 0; i < 50; ++i) {
      ASSERT_OK_AND_ASSIGN(const std::optional<Block> block, queue.next());
      ASSERT_TRUE(block.has_value());
      EXPECT_EQ(block->example_ids[0], i);
    }
    ASSERT_OK_AND_ASSIGN(const std::optional<Block> end, queue.next());
    EXPECT_FALSE(end.has_value());
  }
}

TEST(BlockQueueTest, NoTasks) {
  BlockQueue queue(
      0, 3, [] { return [](int64_t task, const std::atomic<bool>&) { return block_of(task); }; });
  ASSERT_OK_AND_ASSIGN(const std::optional<Block> end, queue.next());
  EXPECT_FALSE(end.has_value());
}

TEST(BlockQueueTest, AnErrorComesInItsTurn) {
  BlockQueue queue(10, 4, [] {
    return [](int64_t task, const std::atomic<bool>&) -> absl::StatusOr<Block> {
      if (task == 3) return absl::DataLossError("task 3");
      return block_of(task);
    };
  });
  for (int64_t i = 0; i < 3; ++i) EXPECT_OK(queue.next());
  EXPECT_THAT(queue.next(), StatusIs(absl::StatusCode::kDataLoss, HasSubstr("task 3")));
}

TEST(BlockQueueTest, ExceptionsBecomeErrorsInTheirTurn) {
  BlockQueue queue(10, 4, [] {
    return [](int64_t task, const std::atomic<bool>&) -> absl::StatusOr<Block> {
      if (task == 1) throw std::bad_alloc();
      if (task == 2) throw std::runtime_error("odd");
      return block_of(task);
    };
  });
  EXPECT_OK(queue.next());
  EXPECT_THAT(queue.next(), StatusIs(absl::StatusCode::kResourceExhausted));
  const absl::Status odd = queue.next().status();
  EXPECT_THAT(odd, StatusIs(absl::StatusCode::kInternal, HasSubstr("odd")));
  EXPECT_EQ(kind_of(odd), FailureKind::kPart);
  EXPECT_OK(queue.next());
}

TEST(BlockQueueTest, ReadersThatCannotBeMadeAreErrors) {
  BlockQueue queue(2, 2, []() -> BlockQueue::Reader { throw std::runtime_error("odd"); });
  for (int i = 0; i < 2; ++i) {
    EXPECT_THAT(queue.next(), StatusIs(absl::StatusCode::kInternal, HasSubstr("odd")));
  }
}

TEST(BlockQueueTest, ReadsNoFurtherAheadThanItSays) {
  constexpr int kThreads = 3;
  std::atomic<int64_t> started = 0;
  std::atomic<int64_t> handed_out = 0;
  std::atomic<bool> too_far = false;
  BlockQueue queue(200, kThreads, [&] {
    return [&](int64_t task, const std::atomic<bool>&) {
      ++started;
      // Tasks up to the one due and one a thread beyond it; the one just handed out may not count
      // yet.
      if (task > handed_out + kThreads + 1) too_far = true;
      return block_of(task);
    };
  });
  for (int64_t i = 0; i < 200; ++i) {
    ASSERT_OK(queue.next());
    ++handed_out;
  }
  EXPECT_FALSE(too_far);
  EXPECT_EQ(started, 200);
}

TEST(BlockQueueTest, CancelWakesAWaitingReaderAndNext) {
  std::latch reading(1);
  auto queue = std::make_unique<BlockQueue>(5, 1, [&reading] {
    return [&reading](int64_t, const std::atomic<bool>& cancelled) -> absl::StatusOr<Block> {
      if (!reading.try_wait()) reading.count_down();
      while (!cancelled) std::this_thread::yield();
      return absl::CancelledError("as told");
    };
  });
  std::thread canceller([&] {
    reading.wait();
    queue->cancel();
  });
  EXPECT_THAT(queue->next(), StatusIs(absl::StatusCode::kCancelled));
  canceller.join();
  EXPECT_THAT(queue->next(), StatusIs(absl::StatusCode::kCancelled));
}

}  // namespace
}  // namespace millrace
