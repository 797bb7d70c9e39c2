#include "embedding/id_map/segment_memory.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <set>
#include <vector>

#include "base/memory/block_pool.h"

namespace millrace {
namespace {

constexpr int64_t kFull = SegmentMemory::kFullBytes;
constexpr int64_t kSmallest = SegmentMemory::kSmallestBytes;

bool all_zero(const void* memory, int64_t bytes) {
  const auto begin = static_cast<const char*>(memory);
  return std::all_of(begin, begin + bytes, [](char c) { return c == 0; });
}

TEST(SegmentMemoryTest, SmallPiecesCountForWhatTheyAre) {
  SegmentMemory memory;
  EXPECT_EQ(memory.bytes(), 0);
  void* const small = memory.allocate_zeros(kSmallest);
  void* const larger = memory.allocate(2 * kSmallest);
  EXPECT_TRUE(all_zero(small, kSmallest));
  EXPECT_EQ(reinterpret_cast<uintptr_t>(larger) % (2 * kSmallest), 0);
  EXPECT_EQ(memory.bytes(), 3 * kSmallest);
  memory.release(small, kSmallest);
  EXPECT_EQ(memory.bytes(), 2 * kSmallest);
  memory.release(larger, 2 * kSmallest);
  EXPECT_EQ(memory.bytes(), 0);
}

TEST(SegmentMemoryTest, TheFirstFullPiecesTakeNoBlock) {
  SegmentMemory memory;
  memory.allocate(kFull);
  memory.allocate(kFull);
  EXPECT_EQ(memory.bytes(), 2 * kFull);
}

TEST(SegmentMemoryTest, TellsPiecesThatAreMappedAlone) {
  SegmentMemory memory;
  void* const small = memory.allocate(kSmallest);
  EXPECT_TRUE(memory.alone(small));
  std::vector<void*> pieces;
  for (int i = 0; i < 8; ++i) pieces.push_back(memory.allocate(kFull));
  EXPECT_TRUE(memory.alone(pieces.front()));
  EXPECT_FALSE(memory.alone(pieces.back()));
}

TEST(SegmentMemoryTest, PiecesAreApartAndZeroAlsoWhenUsedAgain) {
  const auto pool = std::make_shared<BlockPool>(/*background=*/true);
  SegmentMemory memory(pool);
  std::vector<char*> pieces;
  for (int round = 0; round < 3; ++round) {
    for (int i = 0; i < 10; ++i) {
      // Both kinds share blocks.
      const bool zeros = i % 3 != 0;
      auto* const piece =
          static_cast<char*>(zeros ? memory.allocate_zeros(kFull) : memory.allocate(kFull));
      ASSERT_TRUE(!zeros || all_zero(piece, kFull));
      ASSERT_EQ(reinterpret_cast<uintptr_t>(piece) % kFull, 0);
      std::memset(piece, i + 1, kFull);
      pieces.push_back(piece);
    }
    EXPECT_EQ(std::set<char*>(pieces.begin(), pieces.end()).size(), pieces.size());
    for (const char* a : pieces) {
      for (const char* b : pieces) ASSERT_TRUE(a == b || a + kFull <= b || b + kFull <= a);
    }
    // Releases every other piece, so that blocks remain with free pieces.
    std::vector<char*> kept;
    for (size_t i = 0; i < pieces.size(); ++i) {
      if (i % 2 == 0) {
        kept.push_back(pieces[i]);
      } else {
        memory.release(pieces[i], kFull);
      }
    }
    pieces = kept;
  }
}

// A block from the pool may have content of other users.
TEST(SegmentMemoryTest, ZerosAlsoInABlockOfOthers) {
  const auto pool = std::make_shared<BlockPool>(/*background=*/true);
  std::vector<char*> blocks(4);
  for (char*& block : blocks) {
    block = pool->take_zeros();
    std::memset(block, 1, BlockPool::kBlockBytes);
  }
  for (char* block : blocks) pool->give_back(block);
  ASSERT_EQ(pool->ready_bytes(), 4 * BlockPool::kBlockBytes);
  SegmentMemory memory(pool);
  for (int i = 0; i < 4; ++i) ASSERT_TRUE(memory.alone(memory.allocate(kFull)));
  const auto piece = static_cast<char*>(memory.allocate(kFull));
  ASSERT_FALSE(all_zero(piece, kFull));
  ASSERT_EQ(static_cast<char*>(memory.allocate_zeros(kFull)), piece + kFull) << "of the same block";
  EXPECT_TRUE(all_zero(piece + kFull, kFull));
}

TEST(SegmentMemoryTest, FreeBlocksGoBackToThePool) {
  const auto pool = std::make_shared<BlockPool>(/*background=*/false);
  SegmentMemory memory(pool);
  std::vector<void*> pieces;
  for (int i = 0; i < 20; ++i) pieces.push_back(memory.allocate(kFull));
  EXPECT_EQ(memory.bytes(), 20 * kFull);
  std::vector<void*> again(pieces.begin() + 4, pieces.end());
  for (void* piece : again) memory.release(piece, kFull);
  EXPECT_EQ(memory.bytes(), 4 * kFull);
  char* const block = pool->take();
  EXPECT_TRUE(std::any_of(again.begin(), again.end(), [&](void* piece) { return piece == block; }));
  pool->give_back(block);
  // Free pieces are used before a new block.
  for (int i = 0; i < 5; ++i) again[i] = memory.allocate(kFull);
  EXPECT_EQ(memory.bytes(), 12 * kFull);
  memory.release(again[0], kFull);
  memory.allocate(kFull);
  EXPECT_EQ(memory.bytes(), 12 * kFull);
}

}  // namespace
}  // namespace millrace
