// Memory of an id map's segments.
#ifndef MILLRACE_EMBEDDING_ID_MAP_SEGMENT_MEMORY_H_
#define MILLRACE_EMBEDDING_ID_MAP_SEGMENT_MEMORY_H_

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

namespace millrace {

class BlockPool;

// Gives out pieces of memory and takes them back. Many full pieces share the blocks of a pool,
// which go back to it when all their pieces are free; the first full pieces and all smaller ones
// are mapped alone, so that small maps stay small. Memory is never copied.
//
// For one thread at a time. Memory that is still given out goes with the object.
class SegmentMemory {
 public:
  static constexpr int64_t kFullBytes = 512 << 10;
  static constexpr int64_t kSmallestBytes = 4 << 10;  // a page

  // `pool`: may be shared with others; by default one of its own, without a thread.
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

  // Aligned to `bytes`; what it holds is not defined. Throws std::bad_alloc if there is no address
  // space, and then nothing changed. REQUIRES: `bytes` is a power of two from kSmallestBytes to
  // kFullBytes.
  void* allocate(int64_t bytes) { return allocate(bytes, /*zeros=*/false); }
  // The same, of zeros.
  void* allocate_zeros(int64_t bytes) { return allocate(bytes, /*zeros=*/true); }
  // REQUIRES: `memory` was given out with so many bytes.
  void release(void* memory, int64_t bytes);

  // Whether a piece is mapped alone, in small pages.
  bool alone(const void* memory) const;

  // Pieces given out, and free ones in blocks.
  int64_t bytes() const { return bytes_; }

 private:
  static constexpr int kPiecesPerBlock = 4;
  static constexpr int64_t kBlockBytes = kPiecesPerBlock * kFullBytes;  // the pool's
  static constexpr int64_t kPiecesAlone = 4;                            // full ones

  struct Block {
    char* begin;
    bool used[kPiecesPerBlock];
    bool zeros[kPiecesPerBlock];  // nothing was written there
  };
  struct Piece {
    char* memory;
    int64_t bytes;
  };

  void* allocate(int64_t bytes, bool zeros);
  void* map_piece(int64_t bytes);

  std::shared_ptr<BlockPool> pool_;
  std::vector<Block> blocks_;  // the first ones fill up first, so that the last ones become free
  std::vector<Piece> alone_;
  int64_t bytes_ = 0;
};

}  // namespace millrace

#endif  // MILLRACE_EMBEDDING_ID_MAP_SEGMENT_MEMORY_H_
