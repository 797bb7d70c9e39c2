#include "base/memory/block_pool.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <thread>
#include <vector>

#include "base/status_matchers.h"
#include "tests/environment/skip.h"

namespace millrace {
namespace {

TEST(BlockPoolTest, BlocksAreAlignedApartAndWritable) {
  for (const bool background : {false, true}) {
    BlockPool pool(background);
    std::vector<char*> blocks;
    for (int i = 0; i < 70; ++i) {  // more than one arena
      char* block = i % 5 == 0 ? pool.take_sparse() : pool.take();
      EXPECT_EQ(reinterpret_cast<uintptr_t>(block) % BlockPool::kBlockBytes, 0);
      std::memset(block, i, BlockPool::kBlockBytes);
      if (i % 10 == 0) BlockPool::densify(block);
      blocks.push_back(block);
    }
    for (int i = 0; i < 70; ++i) {
      EXPECT_EQ(blocks[i][0], i);
      EXPECT_EQ(blocks[i][BlockPool::kBlockBytes - 1], i);
    }
    for (char* block : blocks) pool.give_back(block);
  }
}

TEST(BlockPoolTest, BlocksGivenBackAreHandedOutAgain) {
  BlockPool pool(false);
  char* first = pool.take();
  pool.give_back(first);
  char* second = pool.take();
  EXPECT_EQ(second, first);
  EXPECT_EQ(pool.ready_bytes(), 0);
  pool.give_back(second);
}

TEST(BlockPoolTest, ZerosAlsoWhereOtherThingsStood) {
  for (const bool background : {false, true}) {
    BlockPool pool(background);
    std::vector<char*> blocks;
    for (int round = 0; round < 2; ++round) {
      for (int i = 0; i < 40; ++i) {
        blocks.push_back(round == 0 ? pool.take() : pool.take_zeros());
        const auto is_zero = [](char c) { return c == 0; };
        if (round == 1) {
          ASSERT_TRUE(std::all_of(blocks.back(), blocks.back() + BlockPool::kBlockBytes, is_zero));
        }
        std::memset(blocks.back(), 1, BlockPool::kBlockBytes);
      }
      for (char* block : blocks) pool.give_back(block);
      blocks.clear();
    }
  }
}

// The thread begins with take(), so nothing happens in the background here.
TEST(BlockPoolTest, WhoeverTakesNothingReadyWakesNoThread) {
  BlockPool pool(true);
  pool.give_back(pool.take_zeros());
  pool.give_back(pool.take_sparse());
  EXPECT_EQ(pool.ready_bytes(), 2 * BlockPool::kBlockBytes);
}

// Locked memory cannot be given back to the system.
TEST(BlockPoolTest, ZerosAlsoWhereMemoryIsLocked) {
  BlockPool pool(false);
  char* const block = pool.take();
  if (mlock(block, 4096) != 0) GTEST_SKIP() << skip_kernel_feature("locked memory", "none allowed");
  block[0] = 1;
  pool.give_back(block);
  EXPECT_EQ(pool.take_zeros(), block);
  EXPECT_EQ(block[0], 0);
  munlock(block, 4096);
  pool.give_back(block);
}

TEST(BlockPoolTest, ManyThreadsTakeAndGiveBack) {
  BlockPool pool(true);
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&pool, t] {
      for (int round = 0; round < 20; ++round) {
        std::vector<char*> blocks;
        for (int i = 0; i < 3; ++i) {
          blocks.push_back(pool.take());
          *blocks.back() = static_cast<char>(t);
        }
        for (char* block : blocks) {
          EXPECT_EQ(*block, t);
          pool.give_back(block);
        }
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_LE(pool.ready_bytes(), 5 * BlockPool::kBlockBytes);
}

TEST(BlockPoolDeathTest, BlocksDoNotOutliveTheirPool) {
  EXPECT_DEATH(
      {
        BlockPool pool(false);
        pool.take();
      },
      "outlive");
}

}  // namespace
}  // namespace millrace
