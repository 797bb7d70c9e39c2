#include "embedding/segment_memory.h"

#include <algorithm>
#include <cstring>

#include "base/huge_memory.h"
#include "base/log.h"

namespace millrace {
SegmentMemory::~SegmentMemory() {
  for (const Arena& arena : arenas_) unmap_memory(arena.begin, kArenaBytes);
  for (const Piece& piece : alone_) unmap_memory(piece.memory, piece.bytes);
}

void* SegmentMemory::allocate(int64_t bytes) {
  if (bytes < kFullBytes) return map_piece(bytes);
  for (Arena& arena : arenas_) {
    bool* const free = std::find(arena.used, arena.used + kPiecesPerArena, false);
    const auto i = free - arena.used;
    if (i == kPiecesPerArena) continue;
    *free = true;
    char* const memory = arena.begin + i * kFullBytes;
    if (arena.dirty[i]) std::memset(memory, 0, kFullBytes);
    arena.dirty[i] = true;
    return memory;
  }
  if (bytes_ < kPiecesAlone * kFullBytes) return map_piece(bytes);
  add_arena();
  return allocate(bytes);
}

void SegmentMemory::release(void* memory, int64_t bytes) {
  const auto begin = static_cast<char*>(memory);
  auto arena = std::find_if(arenas_.begin(), arenas_.end(), [&](const Arena& arena) {
    return begin >= arena.begin && begin < arena.begin + kArenaBytes;
  });
  if (arena == arenas_.end()) {
    auto piece = std::find_if(alone_.begin(), alone_.end(),
                              [&](const Piece& piece) { return piece.memory == memory; });
    MILLRACE_CHECK(piece != alone_.end() && piece->bytes == bytes);
    alone_.erase(piece);
    unmap_memory(begin, bytes);
    bytes_ -= bytes;
    return;
  }
  arena->used[(begin - arena->begin) / kFullBytes] = false;
  if (std::count(arena->used, arena->used + kPiecesPerArena, true) > 0) return;
  unmap_memory(arena->begin, kArenaBytes);
  bytes_ -= kArenaBytes;
  arenas_.erase(arena);
}

bool SegmentMemory::alone(const void* memory) const {
  return std::any_of(alone_.begin(), alone_.end(),
                     [memory](const Piece& piece) { return piece.memory == memory; });
}

void* SegmentMemory::map_piece(int64_t bytes) {
  alone_.push_back({map_memory(bytes, bytes), bytes});
  bytes_ += bytes;
  return alone_.back().memory;
}

void SegmentMemory::add_arena() {
  char* const begin = map_memory(kArenaBytes);
  use_huge_pages(begin, kArenaBytes);
  arenas_.push_back({begin, {}, {}});
  bytes_ += kArenaBytes;
}

}  // namespace millrace
