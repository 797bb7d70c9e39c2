#include "embedding/segment_filling.h"

#include <cstring>
#include <numeric>
#include <vector>

#include "absl/base/attributes.h"
#include "absl/base/optimization.h"
#include "embedding/id_hash_secrets.h"

namespace millrace {
namespace {

constexpr uint64_t kRun = 64;  // buckets that are moved at once

// Eight bytes at a time. The bit of a bucket that `from` was in stays behind: one with room has no
// such bits.
void put(const IdMapEntry& from, IdMapEntry& to) {
  uint64_t row_and_mark;
  static_assert(sizeof from.row_complement + sizeof from.mark == sizeof row_and_mark);
  std::memcpy(&row_and_mark, &from.row_complement, sizeof row_and_mark);
  row_and_mark &= ~(uint64_t{kIdMapPassed} << 32);
  to.id = from.id;
  std::memcpy(&to.row_complement, &row_and_mark, sizeof row_and_mark);
}

// Or each run would begin with waiting for its memory.
void prefetch_run(const IdMapBucket* run) {
  for (uint64_t i = 0; i < kRun; ++i) __builtin_prefetch(run + i, 1, 2);
}

}  // namespace

inline bool SegmentFilling::place(const IdMapEntry& entry) {
  const uint64_t hash = hash_id(map_.secrets, entry.id);
  const auto target = static_cast<uint64_t>((hash & bit_) != 0);
  const uint64_t at = (hash & map_.offsets) / sizeof(IdMapBucket);
  uint8_t& count = counts_[target][at];
  if (ABSL_PREDICT_FALSE(count >= kIdMapEntries)) return place_behind(entry, hash);
  put(entry, buckets_[target][at].entries[count++]);
  return true;
}

ABSL_ATTRIBUTE_NOINLINE bool SegmentFilling::place_behind(const IdMapEntry& entry, uint64_t hash) {
  const auto target = static_cast<uint64_t>((hash & bit_) != 0);
  const uint64_t kind = (hash & map_.offsets) % sizeof(IdMapBucket) / sizeof(IdMapEntry);
  const uint64_t mask = map_.offsets / sizeof(IdMapBucket);
  uint64_t at = (hash & map_.offsets) / sizeof(IdMapBucket);
  for (; counts_[target][at] == kIdMapEntries; at = (at + 1) & mask) {
    buckets_[target][at].entries[kind].mark |= kIdMapPassed;
  }
  uint8_t& count = counts_[target][at];
  if (count == kNotReady) return false;
  put(entry, buckets_[target][at].entries[count++]);
  return true;
}

void SegmentFilling::place_all(IdMapBucket* from, uint64_t count) {
  const bool in_place = from == buckets_[0];
  if (in_place) std::memset(counts_[0], kNotReady, count);
  // First gathered without branches: how many of a bucket's entries are in use cannot be predicted.
  // All four are copied, and those not in use overwritten by the next.
  IdMapEntry entries[kRun * kIdMapEntries];
  std::vector<IdMapEntry> left;
  for (uint64_t begin = 0; begin < count; begin += kRun) {
    IdMapBucket* const run = from + begin;
    if (begin + kRun < count) {
      prefetch_run(run + kRun);
      if (in_place) prefetch_run(buckets_[1] + begin + kRun);
    }
    int64_t gathered = 0;
    for (uint64_t i = 0; i < kRun; ++i) {
      std::memcpy(entries + gathered, run + i, sizeof(IdMapBucket));
      for (const IdMapEntry& entry : run[i].entries) gathered += entry.row_complement != 0;
    }
    if (in_place) {
      std::memset(static_cast<void*>(run), 0, kRun * sizeof(IdMapBucket));
      std::memset(counts_[0] + begin, 0, kRun);
    }
    for (int64_t i = 0; i < gathered; ++i) {
      if (ABSL_PREDICT_FALSE(!place(entries[i]))) left.push_back(entries[i]);
    }
  }
  // Those past the end of a run, or of the segment.
  for (const IdMapEntry& entry : left) place(entry);
}

int32_t SegmentFilling::size_of_one() const {
  return std::accumulate(std::begin(counts_[1]), std::end(counts_[1]), 0);
}

}  // namespace millrace
