#include "base/block_pool.h"

#include <sys/mman.h>

#include <new>

#include "base/catch_exceptions.h"
#include "base/log.h"

#ifndef MADV_COLLAPSE
#define MADV_COLLAPSE 25  // Linux 6.1
#endif

namespace millrace {
namespace {

constexpr int64_t kBlocksPerArena = 32;
constexpr int64_t kReady = 4;  // blocks
constexpr int64_t kPageBytes = 4096;

// Address space without memory, aligned to a block.
char* map_arena() {
  const int64_t bytes = kBlocksPerArena * BlockPool::kBlockBytes;
  // One block more, of which the ends that are too much go back.
  void* mapped = mmap(nullptr, bytes + BlockPool::kBlockBytes, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (mapped == MAP_FAILED) throw std::bad_alloc();
  const auto address = reinterpret_cast<uintptr_t>(mapped);
  const uintptr_t excess = -address & (BlockPool::kBlockBytes - 1);
  char* arena = static_cast<char*>(mapped) + excess;
  if (excess > 0) munmap(mapped, excess);
  munmap(arena + bytes, BlockPool::kBlockBytes - excess);
  return arena;
}

// Without huge pages the blocks are slower, not wrong: errors do not matter.
void use_huge_pages(char* block) { madvise(block, BlockPool::kBlockBytes, MADV_HUGEPAGE); }

void touch(char* block) {
  for (int64_t at = 0; at < BlockPool::kBlockBytes; at += kPageBytes) {
    static_cast<volatile char*>(block)[at] = 0;
  }
}

}  // namespace

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
  for (char* arena : arenas_) munmap(arena, kBlocksPerArena * kBlockBytes);
}

char* BlockPool::fresh() {
  if (empty_.empty()) {
    char* arena = map_arena();
    arenas_.push_back(arena);
    for (int64_t i = kBlocksPerArena - 1; i >= 0; --i) empty_.push_back(arena + i * kBlockBytes);
  }
  char* block = empty_.back();
  empty_.pop_back();
  return block;
}

char* BlockPool::take() {
  char* block;
  {
    MutexLock lock(mutex_);
    if (background_ && !started_) start_thread();
    if (!ready_.empty()) {
      block = ready_.back();
      ready_.pop_back();
      return block;
    }
    block = fresh();
  }
  use_huge_pages(block);
  return block;
}

char* BlockPool::take_sparse() {
  char* block;
  {
    MutexLock lock(mutex_);
    block = fresh();
  }
  madvise(block, kBlockBytes, MADV_NOHUGEPAGE);
  return block;
}

void BlockPool::densify(char* block) {
  use_huge_pages(block);
  madvise(block, kBlockBytes, MADV_COLLAPSE);
}

void BlockPool::give_back(char* block) {
  {
    MutexLock lock(mutex_);
    if (static_cast<int64_t>(ready_.size()) < kReady && background_) {
      ready_.push_back(block);
      return;
    }
  }
  madvise(block, kBlockBytes, MADV_DONTNEED);
  MutexLock lock(mutex_);
  empty_.push_back(block);
}

int64_t BlockPool::ready_bytes() const {
  MutexLock lock(mutex_);
  return static_cast<int64_t>(ready_.size()) * kBlockBytes;
}

void BlockPool::start_thread() {
  started_ = true;
  // Without the thread memory is touched when it is used.
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

void BlockPool::run() {
  while (true) {
    char* block;
    {
      MutexLock lock(mutex_);
      auto wanted = [this]() ABSL_SHARED_LOCKS_REQUIRED(mutex_) {
        return stop_ || static_cast<int64_t>(ready_.size()) < kReady;
      };
      mutex_.await(wanted);
      if (stop_) return;
      block = fresh();
    }
    use_huge_pages(block);
    touch(block);
    MutexLock lock(mutex_);
    ready_.push_back(block);
  }
}

}  // namespace millrace
