// Memory in large equal blocks, for tables that grow.
#ifndef MILLRACE_BASE_MEMORY_BLOCK_POOL_H_
#define MILLRACE_BASE_MEMORY_BLOCK_POOL_H_

#include <cstdint>
#include <memory>
#include <thread>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "base/memory/huge_memory.h"
#include "base/mutex.h"

namespace millrace {

// Provides blocks of 2 MiB, aligned to their size, so that each is one huge page if the system
// supports huge pages. The first touch of new memory is slow, so a pool with a background thread
// keeps a few touched blocks ready for growing tables. Returned blocks are used again. The pool
// retains the memory of a few of them and returns the rest to the system. Thread-safe. REQUIRES:
// all blocks are given back before the pool is destroyed.
class BlockPool {
 public:
  static constexpr int64_t kBlockBytes = kHugePageBytes;

  // If `background` is true, starts the thread, on the CPUs of the calling thread. The thread
  // begins to work at the first call of take().
  explicit BlockPool(bool background);
  ~BlockPool();
  BlockPool(const BlockPool&) = delete;
  BlockPool& operator=(const BlockPool&) = delete;

  // Returns a block with undefined content. This and the next two functions throw std::bad_alloc if
  // no address space is left, and then change nothing.
  char* take();
  // Returns a block of zeros, never a ready block. Memory is allocated by touches.
  char* take_zeros();
  // Returns a block of zeros in small pages, allocated by touches: for the first rows of a table,
  // which may remain small.
  char* take_sparse();
  // Converts a block of take_sparse() to huge pages, as far as the system can. The address stays
  // the same.
  static void densify(char* block);
  void give_back(char* block);

  // Returns the memory of ready blocks, in bytes.
  int64_t ready_bytes() const;

 private:
  char* fresh() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void run();

  const bool background_;
  mutable Mutex mutex_;
  bool stop_ ABSL_GUARDED_BY(mutex_) = false;
  bool in_use_ ABSL_GUARDED_BY(mutex_) = false;        // take() was called
  std::vector<char*> arenas_ ABSL_GUARDED_BY(mutex_);  // memory from the system
  // Blocks without memory, and touched blocks. Both vectors have capacity for all blocks, so that
  // giving back never allocates.
  std::vector<char*> empty_ ABSL_GUARDED_BY(mutex_);
  std::vector<char*> ready_ ABSL_GUARDED_BY(mutex_);
  std::thread thread_;
};

// Returns `pool`, or a new pool without a thread if `pool` is null.
std::shared_ptr<BlockPool> pool_or_own(std::shared_ptr<BlockPool> pool);

}  // namespace millrace

#endif  // MILLRACE_BASE_MEMORY_BLOCK_POOL_H_
