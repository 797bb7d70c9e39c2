#include "embedding/id_map/segment_filling.h"

#include <gtest/gtest.h>

#include <cstring>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "base/isa/instruction_set.h"
#include "embedding/id_map/id_hash.h"
#include "embedding/id_map/id_map_kernels.h"
#include "embedding/id_map/id_map_testing.h"

namespace millrace {
namespace {

constexpr uint64_t kBuckets = 256;  // four runs
constexpr uint64_t kBit = uint64_t{1} << 40;

struct alignas(kBuckets * sizeof(IdMapBucket)) Segment {
  IdMapBucket buckets[kBuckets] = {};
};

using Content = std::map<int64_t, std::pair<RowIndex, uint32_t>>;  // row complements and marks

class SegmentFillingTest : public testing::TestWithParam<int> {
 protected:
  SegmentFillingTest() {
    for (auto& segment : segments_) segment = std::make_unique<Segment>();
  }

  // Inserts ids until `percent` of the entries are in use.
  Content fill(Segment& segment, int percent) {
    Content content;
    const auto count = static_cast<int64_t>(kBuckets * kIdMapEntries) * percent / 100;
    for (int64_t id = 0; id < count; ++id) {
      for (uint64_t at = home(id);; at = (at + 1) % kBuckets) {
        if (IdMapEntry* const free = free_entry(segment.buckets[at])) {
          free->id = id;
          free->row_complement = static_cast<RowIndex>(7 * id + 1);
          free->mark |= static_cast<uint32_t>(id);
          content[id] = {free->row_complement, static_cast<uint32_t>(id)};
          break;
        }
        segment.buckets[at].entries[kind(id)].mark |= kIdMapPassed;
        wraps_ = wraps_ || at + 1 == kBuckets;
      }
    }
    return content;
  }
  static IdMapEntry* free_entry(IdMapBucket& bucket) {
    for (IdMapEntry& entry : bucket.entries) {
      if (entry.row_complement == 0) return &entry;
    }
    return nullptr;
  }
  uint64_t home(int64_t id) const { return hash_(id) / sizeof(IdMapBucket) % kBuckets; }
  uint64_t kind(int64_t id) const { return hash_(id) / sizeof(IdMapEntry) % kIdMapEntries; }

  // Returns the content of a segment, after checks against id_map_bucket.h.
  Content content_of(const Segment& segment) {
    Content content;
    for (uint64_t at = 0; at < kBuckets; ++at) {
      bool free = false, passed = false;
      for (const IdMapEntry& entry : segment.buckets[at].entries) {
        passed = passed || (entry.mark & kIdMapPassed) != 0;
        if (entry.row_complement == 0) {
          free = true;
          EXPECT_EQ(entry.mark, 0u);
          continue;
        }
        EXPECT_FALSE(free) << "entries in use come first";
        for (uint64_t passed = home(entry.id); passed != at; passed = (passed + 1) % kBuckets) {
          EXPECT_TRUE(segment.buckets[passed].entries[kind(entry.id)].mark & kIdMapPassed);
        }
        content[entry.id] = {entry.row_complement, entry.mark & ~kIdMapPassed};
      }
      EXPECT_FALSE(free && passed) << "a bucket that is not full has been passed";
    }
    return content;
  }

  Content with_bit(const Content& content, bool bit) const {
    Content with;
    for (const auto& [id, row] : content) {
      if (((hash_(id) & kBit) != 0) == bit) with[id] = row;
    }
    return with;
  }

  const IdHash hash_{3};
  const IdMapView view_ = {nullptr, 63, sizeof(Segment) - 1, hash_.secrets()};
  std::unique_ptr<Segment> segments_[3];
  bool wraps_ = false;  // an entry went past the segment's end
};

TEST_P(SegmentFillingTest, SplitsInTwo) {
  const Content content = fill(*segments_[0], GetParam());
  const Segment before = *segments_[0];
  for (const InstructionSet set : instruction_sets_here()) {
    // Previous content must have no effect.
    for (int s : {1, 2}) std::memset(static_cast<void*>(segments_[s].get()), 0xff, sizeof(Segment));
    EXPECT_EQ(split_entries(id_map_kernels(set), view_, segments_[0]->buckets, kBit,
                            segments_[1]->buckets, segments_[2]->buckets),
              with_bit(content, true).size());
    EXPECT_EQ(content_of(*segments_[1]), with_bit(content, false)) << name_of(set);
    EXPECT_EQ(content_of(*segments_[2]), with_bit(content, true)) << name_of(set);
    EXPECT_EQ(std::memcmp(&before, segments_[0].get(), sizeof before), 0);
  }
}

TEST_P(SegmentFillingTest, SplitsInPlace) {
  const Content content = fill(*segments_[0], GetParam());
  const Segment before = *segments_[0];
  for (const InstructionSet set : instruction_sets_here()) {
    *segments_[0] = before;
    std::memset(static_cast<void*>(segments_[1].get()), 0xff, sizeof(Segment));
    EXPECT_EQ(split_entries(id_map_kernels(set), view_, segments_[0]->buckets, kBit,
                            segments_[0]->buckets, segments_[1]->buckets),
              with_bit(content, true).size());
    EXPECT_EQ(content_of(*segments_[0]), with_bit(content, false)) << name_of(set);
    EXPECT_EQ(content_of(*segments_[1]), with_bit(content, true)) << name_of(set);
  }
}

TEST_P(SegmentFillingTest, SplitsAlikeOnAllInstructionSets) {
  fill(*segments_[0], GetParam());
  const Segment before = *segments_[0];
  Segment zero, one;
  for (const InstructionSet set : instruction_sets_here()) {
    *segments_[0] = before;
    std::memset(static_cast<void*>(segments_[1].get()), 0xff, sizeof(Segment));
    split_entries(id_map_kernels(set), view_, segments_[0]->buckets, kBit, segments_[0]->buckets,
                  segments_[1]->buckets);
    if (set == InstructionSet::kBaseline) {
      zero = *segments_[0];
      one = *segments_[1];
    }
    EXPECT_EQ(std::memcmp(&zero, segments_[0].get(), sizeof zero), 0) << name_of(set);
    EXPECT_EQ(std::memcmp(&one, segments_[1].get(), sizeof one), 0) << name_of(set);
  }
}

TEST_P(SegmentFillingTest, GathersTwoSegments) {
  const Content content = fill(*segments_[0], GetParam());
  split_entries(id_map_kernels(InstructionSet::kBaseline), view_, segments_[0]->buckets, kBit,
                segments_[0]->buckets, segments_[1]->buckets);
  place_entries(view_, segments_[0]->buckets, kBuckets, segments_[2]->buckets);
  place_entries(view_, segments_[1]->buckets, kBuckets, segments_[2]->buckets);
  EXPECT_EQ(content_of(*segments_[2]), content);
}

// After buckets move, some full buckets are not full any more; their bits must not be copied.
TEST_P(SegmentFillingTest, PlacesSomeBuckets) {
  fill(*segments_[0], GetParam());
  size_t count = 0;
  for (uint64_t at = 0; at < kBuckets; at += 2) {
    place_entries(view_, segments_[0]->buckets + at, 1, segments_[1]->buckets);
    for (const IdMapEntry& entry : segments_[0]->buckets[at].entries) {
      count += entry.row_complement != 0;
    }
  }
  EXPECT_EQ(content_of(*segments_[1]).size(), count);
}

TEST_P(SegmentFillingTest, EntriesGoPastTheEnd) {
  fill(*segments_[0], GetParam());
  EXPECT_EQ(wraps_, GetParam() >= 70);
}

// At 98 %, runs of full buckets are long.
INSTANTIATE_TEST_SUITE_P(Loads, SegmentFillingTest, testing::Values(0, 30, 70, 98),
                         testing::PrintToStringParamName());

}  // namespace
}  // namespace millrace
