// The memory of an id map's segments.
#ifndef MILLRACE_EMBEDDING_ID_MAP_SEGMENT_MEMORY_H_
#define MILLRACE_EMBEDDING_ID_MAP_SEGMENT_MEMORY_H_

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

namespace millrace {

class BlockPool;

// Allocates pieces of memory. Many full pieces share the blocks of a pool; a block returns to the
// pool when all its pieces are free. The first full pieces and all smaller ones are mapped
// separately, so that small maps take little memory. Memory is never copied.
//
// Not thread-safe. The destructor releases pieces that are still allocated.
class SegmentMemory {
 public:
  static constexpr int64_t kFullBytes = 512 << 10;
  static constexpr int64_t kSmallestBytes = 4 << 10;  // a page

  // `pool`: may be shared with others; null: a private pool without a thread.
  explicit SegmentMemory(std::shared_ptr<BlockPool> pool = nullptr);
  SegmentMemory(const SegmentMemory&) = delete;
  SegmentMemory& operator=(const SegmentMemory&) = delete;
  ~SegmentMemory();

  void swap(SegmentMemory& other) {
    std::swap(pool_, other.pool_);
    std::swap(blocks_, other.blocks_);
    std::swap(alone_, other.alone_);
    std::swap(bytes_, other.bytes_);
  }

  // Allocates uninitialized memory, aligned to `bytes`. Throws std::bad_alloc without address
  // space; then nothing has changed. REQUIRES: `bytes` is a power of two from kSmallestBytes to
  // kFullBytes.
  void* allocate(int64_t bytes) { return allocate(bytes, /*zeros=*/false); }
  // Allocates memory as allocate(), filled with zeros.
  void* allocate_zeros(int64_t bytes) { return allocate(bytes, /*zeros=*/true); }
  // Releases a piece. REQUIRES: `memory` was allocated with `bytes`.
  void release(void* memory, int64_t bytes);

  // Returns true if a piece is mapped separately, in small pages.
  bool alone(const void* memory) const;

  // Returns the bytes of allocated pieces and of free pieces in blocks.
  int64_t bytes() const { return bytes_; }

 private:
  static constexpr int kPiecesPerBlock = 4;
  static constexpr int64_t kBlockBytes = kPiecesPerBlock * kFullBytes;  // the pool's
  static constexpr int64_t kPiecesAlone = 4;                            // full pieces

  struct Block {
    char* begin;
    bool used[kPiecesPerBlock];
    bool zeros[kPiecesPerBlock];  // never written
  };
  struct Piece {
    char* memory;
    int64_t bytes;
  };

  void* allocate(int64_t bytes, bool zeros);
  void* map_piece(int64_t bytes);

  std::shared_ptr<BlockPool> pool_;
  std::vector<Block> blocks_;  // earlier blocks fill first, so that later ones become free
  std::vector<Piece> alone_;
  int64_t bytes_ = 0;
};

}  // namespace millrace

#endif  // MILLRACE_EMBEDDING_ID_MAP_SEGMENT_MEMORY_H_
