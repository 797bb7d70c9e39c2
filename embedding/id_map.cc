#include "embedding/id_map.h"

#include <algorithm>

namespace millrace {
namespace {

constexpr int64_t kInitialEntries = 64;
constexpr int64_t kChunk = 32;  // ids whose memory accesses overlap

// Both halves of a 128-bit product, folded: every bit of the id reaches the low bits. Apart from
// placement_hash on purpose, since rows may arrive sorted by that one.
uint64_t mix(int64_t id) {
  const auto product = static_cast<unsigned __int128>(static_cast<uint64_t>(id) ^
                                                      0x243f6a8885a308d3ULL) *
                       0x9e3779b97f4a7c15ULL;
  return static_cast<uint64_t>(product >> 64) ^ static_cast<uint64_t>(product);
}

}  // namespace

IdMap::IdMap() : entries_(kInitialEntries) {}

void IdMap::find(absl::Span<const int64_t> ids, absl::Span<RowIndex> rows) const {
  uint64_t hashes[kChunk];
  const auto total = static_cast<int64_t>(ids.size());
  for (int64_t begin = 0; begin < total; begin += kChunk) {
    const int64_t count = std::min(kChunk, total - begin);
    for (int64_t i = 0; i < count; ++i) {
      hashes[i] = mix(ids[begin + i]) & mask();
      __builtin_prefetch(&entries_[hashes[i]]);
    }
    for (int64_t i = 0; i < count; ++i) {
      const int64_t id = ids[begin + i];
      uint64_t at = hashes[i];
      while (entries_[at].row != kNoRow && entries_[at].id != id) at = (at + 1) & mask();
      rows[begin + i] = entries_[at].row;
    }
  }
}

void IdMap::find_or_insert(absl::Span<const int64_t> ids, absl::Span<RowIndex> rows,
                           absl::FunctionRef<RowIndex(int64_t)> make_row) {
  uint64_t hashes[kChunk];
  const auto total = static_cast<int64_t>(ids.size());
  for (int64_t begin = 0; begin < total; begin += kChunk) {
    const int64_t count = std::min(kChunk, total - begin);
    // Room for the whole chunk first, so that positions hold.
    while (10 * (size_ + count) > 7 * static_cast<int64_t>(entries_.size())) grow();
    for (int64_t i = 0; i < count; ++i) {
      hashes[i] = mix(ids[begin + i]) & mask();
      __builtin_prefetch(&entries_[hashes[i]]);
    }
    for (int64_t i = 0; i < count; ++i) {
      const int64_t id = ids[begin + i];
      uint64_t at = hashes[i];
      while (entries_[at].row != kNoRow && entries_[at].id != id) at = (at + 1) & mask();
      if (entries_[at].row == kNoRow) {
        entries_[at] = {id, make_row(id)};
        ++size_;
      }
      rows[begin + i] = entries_[at].row;
    }
  }
}

void IdMap::erase(absl::Span<const int64_t> ids) {
  for (const int64_t id : ids) erase_one(id);
}

void IdMap::erase_one(int64_t id) {
  uint64_t hole = mix(id) & mask();
  while (entries_[hole].row != kNoRow && entries_[hole].id != id) hole = (hole + 1) & mask();
  if (entries_[hole].row == kNoRow) return;
  // Entries behind the hole move into it unless that would put them before their home.
  for (uint64_t at = (hole + 1) & mask(); entries_[at].row != kNoRow; at = (at + 1) & mask()) {
    const uint64_t home = mix(entries_[at].id) & mask();
    if (((at - home) & mask()) < ((at - hole) & mask())) continue;
    entries_[hole] = entries_[at];
    hole = at;
  }
  entries_[hole] = Entry();
  --size_;
}

void IdMap::for_each(absl::FunctionRef<void(int64_t, RowIndex)> visit) const {
  for (const Entry& entry : entries_) {
    if (entry.row != kNoRow) visit(entry.id, entry.row);
  }
}

void IdMap::clear() {
  std::vector<Entry>(kInitialEntries).swap(entries_);
  size_ = 0;
}

void IdMap::grow() {
  std::vector<Entry> old(2 * entries_.size());
  old.swap(entries_);
  for (const Entry& entry : old) {
    if (entry.row == kNoRow) continue;
    uint64_t at = mix(entry.id) & mask();
    while (entries_[at].row != kNoRow) at = (at + 1) & mask();
    entries_[at] = entry;
  }
}

}  // namespace millrace
