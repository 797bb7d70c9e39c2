#include "embedding/id_map/segment_memory.h"

#include <algorithm>
#include <cstring>

#include "base/log.h"
#include "base/memory/block_pool.h"
#include "base/memory/huge_memory.h"
#include "base/memory/make_room.h"

namespace millrace {

SegmentMemory::SegmentMemory(std::shared_ptr<BlockPool> pool)
    : pool_(pool_or_own(std::move(pool))) {
  static_assert(kBlockBytes == BlockPool::kBlockBytes);
}

SegmentMemory::~SegmentMemory() {
  for (const Block& block : blocks_) pool_->give_back(block.begin);
  for (const Piece& piece : alone_) unmap_memory(piece.memory, piece.bytes);
}

void* SegmentMemory::allocate(int64_t bytes, bool zeros) {
  if (bytes < kFullBytes) return map_piece(bytes);
  for (Block& block : blocks_) {
    bool* const free = std::find(block.used, block.used + kPiecesPerBlock, false);
    const auto i = free - block.used;
    if (i == kPiecesPerBlock) continue;
    *free = true;
    char* const memory = block.begin + i * kFullBytes;
    if (zeros && !block.zeros[i]) std::memset(memory, 0, kFullBytes);
    block.zeros[i] = false;
    return memory;
  }
  if (bytes_ < kPiecesAlone * kFullBytes) return map_piece(bytes);
  make_room_for_one(blocks_);
  blocks_.push_back({zeros ? pool_->take_zeros() : pool_->take(), {}, {}});
  std::fill_n(blocks_.back().zeros, kPiecesPerBlock, zeros);
  bytes_ += kBlockBytes;
  return allocate(bytes, zeros);
}

void SegmentMemory::release(void* memory, int64_t bytes) {
  const auto begin = static_cast<char*>(memory);
  auto block = std::find_if(blocks_.begin(), blocks_.end(), [&](const Block& block) {
    return begin >= block.begin && begin < block.begin + kBlockBytes;
  });
  if (block == blocks_.end()) {
    auto piece = std::find_if(alone_.begin(), alone_.end(),
                              [&](const Piece& piece) { return piece.memory == memory; });
    MILLRACE_CHECK(piece != alone_.end() && piece->bytes == bytes);
    alone_.erase(piece);
    unmap_memory(begin, bytes);
    bytes_ -= bytes;
    return;
  }
  block->used[(begin - block->begin) / kFullBytes] = false;
  if (std::count(block->used, block->used + kPiecesPerBlock, true) > 0) return;
  pool_->give_back(block->begin);
  bytes_ -= kBlockBytes;
  blocks_.erase(block);
}

bool SegmentMemory::alone(const void* memory) const {
  return std::any_of(alone_.begin(), alone_.end(),
                     [memory](const Piece& piece) { return piece.memory == memory; });
}

void* SegmentMemory::map_piece(int64_t bytes) {
  make_room_for_one(alone_);
  alone_.push_back({map_memory(bytes, bytes), bytes});
  bytes_ += bytes;
  return alone_.back().memory;
}

}  // namespace millrace
