#include "embedding/evicted_log.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "base/hash.h"

namespace millrace {

void EvictedLog::add(int64_t step, absl::Span<const int64_t> ids) {
  if (ids.empty()) return;
  evictions_.push_back({step, {ids.begin(), ids.end()}});
  size_ += static_cast<int64_t>(ids.size());
  while (size_ > capacity_) {
    // Others of that step may have been evicted by a call that is still here: it is incomplete too.
    begins_ = evictions_.front().step + 1;
    size_ -= static_cast<int64_t>(evictions_.front().ids.size());
    evictions_.pop_front();
  }
}

absl::StatusOr<std::vector<int64_t>> EvictedLog::since(int64_t step) const {
  if (step < begins_) {
    return absl::OutOfRangeError(absl::StrCat("ids evicted since step ", step,
                                              " are not known: the log begins at step ", begins_));
  }
  std::vector<uint64_t> hashes;
  for (const Eviction& eviction : evictions_) {
    if (eviction.step < step) continue;
    for (const int64_t id : eviction.ids) hashes.push_back(placement_hash(id));
  }
  std::sort(hashes.begin(), hashes.end());
  hashes.erase(std::unique(hashes.begin(), hashes.end()), hashes.end());
  std::vector<int64_t> ids;
  ids.reserve(hashes.size());
  for (const uint64_t hash : hashes) ids.push_back(inverse_placement_hash(hash));
  return ids;
}

void EvictedLog::restart(int64_t step) {
  evictions_.clear();
  size_ = 0;
  begins_ = step;
}

int64_t EvictedLog::bytes() const {
  int64_t bytes = 0;
  for (const Eviction& eviction : evictions_) {
    bytes += static_cast<int64_t>(sizeof(Eviction) + eviction.ids.capacity() * sizeof(int64_t));
  }
  return bytes;
}

}  // namespace millrace
