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

// Hands out blocks of 2 MiB, aligned to their size, so that one huge page holds each where the
// system has them. The first touch of fresh memory is slow: a pool with a background thread keeps a
// few blocks ready that were touched already, so that a table that grows steadily does not wait.
// Blocks given back are kept for the next who takes one; but for a few that stay ready, their
// memory goes back to the system. Thread-safe. Blocks must be given back before the pool is
// destroyed.
class BlockPool {
 public:
  static constexpr int64_t kBlockBytes = kHugePageBytes;

  // The thread starts here, on the CPUs of whoever makes the pool, and to work with the first call
  // of take().
  explicit BlockPool(bool background);
  ~BlockPool();
  BlockPool(const BlockPool&) = delete;
  BlockPool& operator=(const BlockPool&) = delete;

  // A block; what it holds is not defined. Like those below it throws std::bad_alloc if there is no
  // address space, and then nothing changed.
  char* take();
  // A block of zeros, none of the ready ones; its memory appears where it is touched.
  char* take_zeros();
  // The same, but in small pages that exist only once they are touched: for the first rows of
  // what may stay small.
  char* take_sparse();
  // Makes one block of huge pages out of a sparse one, as far as the system can. It does not move.
  static void densify(char* block);
  void give_back(char* block);

  // Memory of blocks that are kept ready.
  int64_t ready_bytes() const;

 private:
  char* fresh() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void run();

  const bool background_;
  mutable Mutex mutex_;
  bool stop_ ABSL_GUARDED_BY(mutex_) = false;
  bool in_use_ ABSL_GUARDED_BY(mutex_) = false;        // take() was called
  std::vector<char*> arenas_ ABSL_GUARDED_BY(mutex_);  // what the system gave
  // Blocks without memory, and blocks that were touched. There is room for each that may come back.
  std::vector<char*> empty_ ABSL_GUARDED_BY(mutex_);
  std::vector<char*> ready_ ABSL_GUARDED_BY(mutex_);
  std::thread thread_;
};

// `pool`, or if that is null a new one without a thread.
std::shared_ptr<BlockPool> pool_or_own(std::shared_ptr<BlockPool> pool);

}  // namespace millrace

#endif  // MILLRACE_BASE_MEMORY_BLOCK_POOL_H_
