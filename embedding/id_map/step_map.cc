#include "embedding/id_map/step_map.h"

#include <algorithm>
#include <array>

#include "embedding/id_map/hash_seed.h"
#include "embedding/id_map/id_map.h"

namespace millrace {
namespace {

constexpr int kSmallestBits = 8;

}  // namespace

StepMap::StepMap() : StepMap(secret_hash_seed()) {}

StepMap::StepMap(uint64_t seed)
    : hash_(seed), entries_(size_t{1} << kSmallestBits), shift_(64 - kSmallestBits) {}

void StepMap::clear() {
  size_ = 0;
  if (++stamp_ != 0) return;
  // The stamp wrapped around: entries of 2^32 steps ago would look current.
  std::fill(entries_.begin(), entries_.end(), Entry());
  stamp_ = 1;
}

void StepMap::reserve(size_t more) {
  const size_t needed = 2 * (static_cast<size_t>(size_) + more);
  if (needed <= entries_.size()) return;
  size_t bits = 64 - shift_;
  while ((size_t{1} << bits) < needed) ++bits;
  std::vector<Entry> old(size_t{1} << bits);
  old.swap(entries_);
  shift_ = static_cast<int>(64 - bits);
  for (const Entry& entry : old) {
    if (entry.stamp == stamp_) entries_[locate(entry.id, home(entry.id))] = entry;
  }
}

void StepMap::find_or_add(absl::Span<const int64_t> ids, std::vector<int64_t>& distinct,
                          absl::Span<uint32_t> places) {
  std::array<size_t, kBlock> homes;
  for (size_t begin = 0; begin < ids.size(); begin += kBlock) {
    const size_t count = std::min(kBlock, ids.size() - begin);
    reserve(count);
    for (size_t i = 0; i < count; ++i) {
      homes[i] = home(ids[begin + i]);
      __builtin_prefetch(&entries_[homes[i]], 1);
    }
    for (size_t i = 0; i < count; ++i) {
      const int64_t id = ids[begin + i];
      Entry& entry = entries_[locate(id, homes[i])];
      if (entry.stamp != stamp_) {
        entry = {id, stamp_, static_cast<uint32_t>(size_++)};
        distinct.push_back(id);
      }
      places[begin + i] = entry.place;
    }
  }
}

bool StepMap::find(absl::Span<const int64_t> ids, absl::Span<uint32_t> places) const {
  bool all = true;
  std::array<size_t, kBlock> homes;
  for (size_t begin = 0; begin < ids.size(); begin += kBlock) {
    const size_t count = std::min(kBlock, ids.size() - begin);
    for (size_t i = 0; i < count; ++i) {
      homes[i] = home(ids[begin + i]);
      __builtin_prefetch(&entries_[homes[i]]);
    }
    for (size_t i = 0; i < count; ++i) {
      const Entry& entry = entries_[locate(ids[begin + i], homes[i])];
      const bool known = entry.stamp == stamp_;
      places[begin + i] = known ? entry.place : kNoPlace;
      all = all && known;
    }
  }
  return all;
}

}  // namespace millrace
