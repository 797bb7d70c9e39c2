// Memory of an id map's segments.
#ifndef MILLRACE_EMBEDDING_SEGMENT_MEMORY_H_
#define MILLRACE_EMBEDDING_SEGMENT_MEMORY_H_

#include <cstdint>
#include <utility>
#include <vector>

namespace millrace {

// Gives out zeroed pieces of memory and takes them back. Many full pieces share arenas of one huge
// page each, 2 MiB, which go back to the system when all their pieces are free; the first full
// pieces and all smaller ones are mapped alone, so that small maps stay small. Memory is touched
// when it is first used, one huge page at a time, and never copied.
//
// For one thread at a time. Memory that is still given out goes with the object.
class SegmentMemory {
 public:
  static constexpr int64_t kFullBytes = 512 << 10;
  static constexpr int64_t kSmallestBytes = 4 << 10;  // a page

  SegmentMemory() = default;
  SegmentMemory(const SegmentMemory&) = delete;
  SegmentMemory& operator=(const SegmentMemory&) = delete;
  ~SegmentMemory();

  void swap(SegmentMemory& other) {
    std::swap(arenas_, other.arenas_);
    std::swap(alone_, other.alone_);
    std::swap(bytes_, other.bytes_);
  }

  // Returns: zeros, aligned to `bytes`. A program without memory ends here.
  // REQUIRES: `bytes` is a power of two from kSmallestBytes to kFullBytes.
  void* allocate(int64_t bytes);
  // REQUIRES: allocate(bytes) returned `memory`.
  void release(void* memory, int64_t bytes);

  // Whether a piece is mapped alone, in small pages.
  bool alone(const void* memory) const;

  // What is mapped now: pieces given out, and free ones in arenas.
  int64_t bytes() const { return bytes_; }

 private:
  static constexpr int64_t kArenaBytes = 2 << 20;
  static constexpr int kPiecesPerArena = kArenaBytes / kFullBytes;
  static constexpr int64_t kPiecesAlone = 4;  // full ones

  struct Arena {
    char* begin;
    bool used[kPiecesPerArena];
    bool dirty[kPiecesPerArena];  // was used before
  };
  struct Piece {
    char* memory;
    int64_t bytes;
  };

  void* map_piece(int64_t bytes);
  void add_arena();

  std::vector<Arena> arenas_;  // the first ones fill up first, so that the last ones become free
  std::vector<Piece> alone_;
  int64_t bytes_ = 0;
};

}  // namespace millrace

#endif  // MILLRACE_EMBEDDING_SEGMENT_MEMORY_H_
