#include "base/memory/block_pool.h"

#include <utility>

#include "base/catch_exceptions.h"
#include "base/log.h"
#include "base/memory/huge_memory.h"
#include "base/memory/make_room.h"

namespace millrace {
namespace {

constexpr int64_t kBlocksPerArena = 32;
constexpr int64_t kReady = 4;  // blocks

}  // namespace

BlockPool::BlockPool(bool background) : background_(background) {
  if (!background) return;
  {
    MutexLock lock(mutex_);
    ready_.reserve(kReady + 1);  // a block may be given back while the thread touches another
  }
  // If the thread cannot start, blocks are touched when they are used.
  catch_exceptions([this] {
    thread_ = std::thread([this] {
      catch_exceptions([this] {
        run();
        return absl::OkStatus();
      }).IgnoreError();
    });
    return absl::OkStatus();
  }).IgnoreError();
}

BlockPool::~BlockPool() {
  {
    MutexLock lock(mutex_);
    stop_ = true;
  }
  if (thread_.joinable()) thread_.join();
  MutexLock lock(mutex_);
  const auto blocks = static_cast<int64_t>(empty_.size() + ready_.size());
  MILLRACE_CHECK(blocks == static_cast<int64_t>(arenas_.size()) * kBlocksPerArena)
      << "blocks outlive their pool";
  for (char* arena : arenas_) unmap_memory(arena, kBlocksPerArena * kBlockBytes);
}

char* BlockPool::fresh() {
  if (empty_.empty()) {
    // Allocations that may fail come first, so that a failure changes nothing.
    make_room_for_one(arenas_);
    empty_.reserve((arenas_.size() + 1) * kBlocksPerArena);
    char* arena = map_memory(kBlocksPerArena * kBlockBytes);
    // One call for all blocks of the arena, because each call blocks other threads at their touches
    // of memory.
    use_huge_pages(arena, kBlocksPerArena * kBlockBytes);
    arenas_.push_back(arena);
    for (int64_t i = kBlocksPerArena - 1; i >= 0; --i) empty_.push_back(arena + i * kBlockBytes);
  }
  char* block = empty_.back();
  empty_.pop_back();
  return block;
}

char* BlockPool::take() {
  MutexLock lock(mutex_);
  in_use_ = true;
  if (ready_.empty()) return fresh();
  char* block = ready_.back();
  ready_.pop_back();
  return block;
}

char* BlockPool::take_zeros() {
  MutexLock lock(mutex_);
  return fresh();
}

char* BlockPool::take_sparse() {
  char* const block = take_zeros();
  use_small_pages(block, kBlockBytes);
  return block;
}

void BlockPool::densify(char* block) { collapse_pages(block, kBlockBytes); }

void BlockPool::give_back(char* block) {
  use_huge_pages(block, kBlockBytes);  // it may have been sparse
  {
    MutexLock lock(mutex_);
    if (static_cast<int64_t>(ready_.size()) < kReady && background_) {
      ready_.push_back(block);
      return;
    }
  }
  forget_memory(block, kBlockBytes);
  MutexLock lock(mutex_);
  empty_.push_back(block);
}

int64_t BlockPool::ready_bytes() const {
  MutexLock lock(mutex_);
  return static_cast<int64_t>(ready_.size()) * kBlockBytes;
}

void BlockPool::run() {
  while (true) {
    char* block;
    {
      MutexLock lock(mutex_);
      auto wanted = [this]() ABSL_SHARED_LOCKS_REQUIRED(mutex_) {
        return stop_ || (in_use_ && static_cast<int64_t>(ready_.size()) < kReady);
      };
      mutex_.await(wanted);
      if (stop_) return;
      block = fresh();
    }
    touch_memory(block, kBlockBytes);
    MutexLock lock(mutex_);
    ready_.push_back(block);
  }
}

std::shared_ptr<BlockPool> pool_or_own(std::shared_ptr<BlockPool> pool) {
  return pool != nullptr ? std::move(pool) : std::make_shared<BlockPool>(/*background=*/false);
}

}  // namespace millrace
