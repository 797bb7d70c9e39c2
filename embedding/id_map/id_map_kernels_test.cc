#include "embedding/id_map/id_map_kernels.h"

#include <algorithm>
#include <iterator>
#include <memory>
#include <random>
#include <unordered_map>
#include <vector>

#include "base/status_matchers.h"
#include "embedding/id_map/id_hash.h"
#include "embedding/id_map/id_map_testing.h"

namespace millrace {
namespace {

constexpr int kSegments = 2;
constexpr int64_t kBuckets = 64;  // of a segment
constexpr int64_t kEntries = kSegments * kBuckets * kIdMapEntries;
constexpr RowIndex kUntouched = 12345;

// Two segments, filled as id_map_bucket.h documents.
class TinyMap {
 public:
  explicit TinyMap(uint64_t seed) : hash_(seed), memory_(std::make_unique<Memory>()) {
    for (int s = 0; s < kSegments; ++s) directory_[s] = memory_->buckets[s];
  }
  IdMapView view() const {
    return {directory_, 63, sizeof memory_->buckets[0] - 1, hash_.secrets()};
  }
  uint64_t hash(int64_t id) const { return hash_(id); }
  // Returns the id's home, or the bucket `distance` after it.
  IdMapBucket& bucket(int64_t id, int64_t distance) {
    return memory_->buckets[hash(id) >> 63][(hash(id) / sizeof(IdMapBucket) + distance) % kBuckets];
  }
  IdMapBucket& home(int64_t id) { return bucket(id, 0); }
  void insert(int64_t id) {
    IdMapBucket* const segment = memory_->buckets[hash(id) >> 63];
    const uint64_t kind = hash(id) / sizeof(IdMapEntry) % kIdMapEntries;
    for (int64_t at = &home(id) - segment;; at = (at + 1) % kBuckets) {
      for (IdMapEntry& entry : segment[at].entries) {
        if (entry.row_complement != 0) continue;
        const auto row = static_cast<RowIndex>(entries_.size());
        entry.id = id;
        entry.row_complement = ~row;
        entry.mark |= row;
        entries_[id] = &entry;
        return;
      }
      segment[at].entries[kind].mark |= kIdMapPassed;
    }
  }
  IdMapEntry* entry(int64_t id) const {
    const auto found = entries_.find(id);
    return found == entries_.end() ? nullptr : found->second;
  }
  RowIndex row(int64_t id) const {
    return entry(id) == nullptr ? kNoRow : ~entry(id)->row_complement;
  }

 private:
  struct alignas(kBuckets * sizeof(IdMapBucket)) Memory {
    IdMapBucket buckets[kSegments][kBuckets] = {};
  };
  IdHash hash_;
  std::unique_ptr<Memory> memory_;
  IdMapBucket* directory_[kSegments];
  std::unordered_map<int64_t, IdMapEntry*> entries_;
};

// Returns consecutive ids from 0 on, alternating known and unknown ids.
std::vector<int64_t> some_ids(int64_t count, int64_t known, std::mt19937_64& random) {
  std::vector<int64_t> ids(count);
  for (int64_t& id : ids) id = static_cast<int64_t>(random() % (2 * known + 1));
  return ids;
}

class IdMapKernelsTest : public testing::TestWithParam<InstructionSet> {
 protected:
  IdMapKernelsTest() : kernels_(id_map_kernels(GetParam())) {}

  // Checks `find` of these ids.
  void expect_finds(const TinyMap& map, const std::vector<int64_t>& ids) {
    const auto count = static_cast<int64_t>(ids.size());
    std::vector<RowIndex> rows(ids.size() + 1, kUntouched);
    kernels_.find(map.view(), ids.data(), count, rows.data());
    for (int64_t i = 0; i < count; ++i) ASSERT_EQ(rows[i], map.row(ids[i])) << i << " of " << count;
    ASSERT_EQ(rows[count], kUntouched);
  }

  // Checks `start` and `locate`, block after block.
  void expect_locates(TinyMap& map, const std::vector<int64_t>& ids) {
    IdMapSearch search;
    search.ids = ids.data();
    search.count = static_cast<int64_t>(ids.size());
    kernels_.start(map.view(), search);
    for (int64_t begin = 0; begin < search.count; begin += kIdMapBlock) {
      kernels_.locate(map.view(), search, begin);
      for (int64_t i = begin; i < std::min(begin + kIdMapBlock, search.count); ++i) {
        ASSERT_EQ(search.located[i % std::size(search.located)], expected(map, ids[i]))
            << i << " of " << search.count;
        ASSERT_EQ(bucket_of(home_at(search.homes, i)), &map.home(ids[i]));
      }
    }
  }

  // Returns the documented result.
  static IdMapEntry* expected(TinyMap& map, int64_t id) {
    if (IdMapEntry* const entry = map.entry(id)) return entry;
    for (int64_t distance = 0;; ++distance) {
      for (IdMapEntry& entry : map.bucket(id, distance).entries) {
        if (entry.row_complement == 0) return &entry;
      }
    }
  }

  const IdMapKernels& kernels_;
};

TEST_P(IdMapKernelsTest, FindWorksForEveryNumberOfIds) {
  std::mt19937_64 random(1);
  TinyMap map(3);
  for (int64_t id = 0; id < kEntries / 2; ++id) map.insert(id);
  for (int64_t count = 0; count <= 4 * kIdMapAhead + 2; ++count) {
    expect_finds(map, some_ids(count, kEntries / 2, random));
    if (HasFatalFailure()) return;
  }
  kernels_.find(map.view(), nullptr, 0, nullptr);
}

TEST_P(IdMapKernelsTest, LocateWorksForEveryNumberOfIds) {
  std::mt19937_64 random(2);
  TinyMap map(4);
  for (int64_t id = 0; id < kEntries / 2; ++id) map.insert(id);
  for (int64_t count = 0; count <= 4 * kIdMapAhead + 2; ++count) {
    const std::vector<int64_t> ids = some_ids(count, kEntries / 2, random);
    expect_locates(map, ids);
    if (HasFatalFailure()) return;
  }
}

// From empty to nearly full, where most ids are past their home, some past the segment's end.
TEST_P(IdMapKernelsTest, WorksAtEveryLoad) {
  std::mt19937_64 random(5);
  int64_t behind = 0;
  for (uint64_t seed = 0; seed < 20; ++seed) {
    TinyMap map(seed);
    int64_t in_segment[kSegments] = {};
    for (int64_t id = 0; id < kEntries; ++id) {
      if (id % 16 == 0) {
        const std::vector<int64_t> ids = some_ids(333, std::max<int64_t>(id, 1), random);
        expect_finds(map, ids);
        expect_locates(map, ids);
        if (HasFatalFailure()) return;
      }
      // One entry stays free; otherwise searches of unknown ids do not end.
      if (++in_segment[map.hash(id) >> 63] >= kBuckets * kIdMapEntries) break;
      map.insert(id);
      const IdMapBucket& home = map.home(id);
      const IdMapEntry* const entry = map.entry(id);
      behind += entry < home.entries || entry >= home.entries + kIdMapEntries;
    }
  }
  EXPECT_GT(behind, 1000);
}

// 0, the id of free entries, is also a valid id.
TEST_P(IdMapKernelsTest, ZeroIsNotTakenForAFreeEntry) {
  for (uint64_t seed = 0; seed < 50; ++seed) {
    TinyMap map(seed);
    const std::vector<int64_t> ids(kIdMapAhead + 1, 0);
    for (int64_t id = 1; id < 200; ++id) {
      expect_finds(map, ids);
      expect_locates(map, ids);
      if (HasFatalFailure()) return;
      map.insert(id);
    }
    map.insert(0);
    expect_finds(map, ids);
    expect_locates(map, ids);
  }
}

// Compares all 64 bits of ids, and returns all 32 bits of rows.
TEST_P(IdMapKernelsTest, IdsThatAgreeInManyBitsAreOthers) {
  TinyMap map(6);
  std::vector<int64_t> ids;
  for (const int64_t id : {int64_t{0}, int64_t{-1}, kLowestId, kHighestId, int64_t{1} << 32}) {
    map.insert(id);
    map.entry(id)->row_complement = 1 + static_cast<RowIndex>(id >> 7);
    ids.push_back(id);
    for (int bit = 0; bit < 64; ++bit) {
      ids.push_back(static_cast<int64_t>(static_cast<uint64_t>(id) ^ uint64_t{1} << bit));
    }
  }
  expect_finds(map, ids);
  expect_locates(map, ids);
}

INSTANTIATE_TEST_SUITE_P(InstructionSets, IdMapKernelsTest,
                         testing::ValuesIn(instruction_sets_here()),
                         [](const auto& info) { return name_of(info.param); });

}  // namespace
}  // namespace millrace
