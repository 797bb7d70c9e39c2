#include "embedding/id_map.h"

#include <unistd.h>

#include <algorithm>
#include <utility>

#include "absl/base/attributes.h"
#include "base/huge_memory.h"
#include "base/log.h"

namespace millrace {
namespace {

constexpr int64_t kGrowPercent = 70;  // load at which a segment splits
// Load that reserve() makes room for: some segments get more than their share.
constexpr int64_t kReservePercent = 68;
// A map of one segment halves it at this load; two segments merge where that makes twice as much.
constexpr int64_t kShrinkPercent = 15;

uint64_t seed_from_system() {
  uint64_t seed = 0;
  MILLRACE_CHECK(getentropy(&seed, sizeof seed) == 0);
  return seed;
}

}  // namespace

IdMap::IdMap(InstructionSet set) : IdMap(seed_from_system(), set) {}

IdMap::IdMap(uint64_t seed, InstructionSet set) : kernels_(id_map_kernels(set)), hash_(seed) {
  start();
}

void IdMap::start() {
  mask_ = SegmentMemory::kSmallestBytes / sizeof(Bucket) - 1;
  shift_ = 63;
  directory_.resize(2);
  owners_.resize(2);
  segments_.push_back({new_buckets(), 0, 0, 0});
  enter(0);
}

void IdMap::clear() {
  for (const Segment& segment : segments_) memory_.release(segment.buckets, bucket_bytes());
  std::vector<Bucket*>().swap(directory_);
  std::vector<uint32_t>().swap(owners_);
  std::vector<Segment>().swap(segments_);
  size_ = 0;
  start();
}

void IdMap::swap(IdMap& other) {
  std::swap(hash_, other.hash_);
  memory_.swap(other.memory_);
  std::swap(directory_, other.directory_);
  std::swap(owners_, other.owners_);
  std::swap(segments_, other.segments_);
  std::swap(shift_, other.shift_);
  std::swap(mask_, other.mask_);
  std::swap(size_, other.size_);
}

int64_t IdMap::bytes() const {
  return memory_.bytes() + static_cast<int64_t>(directory_.capacity() * sizeof(Bucket*) +
                                                owners_.capacity() * sizeof(uint32_t) +
                                                segments_.capacity() * sizeof(Segment));
}

double IdMap::load() const {
  return static_cast<double>(size_) /
         static_cast<double>(entries_per_segment() * static_cast<int64_t>(segments_.size()));
}

void IdMap::prefetch(absl::Span<const int64_t> ids, absl::Span<uint64_t> hashes) const {
  for (size_t i = 0; i < ids.size(); ++i) hashes[i] = hash_(ids[i]);
  const IdMapView map = view();
  for (const uint64_t hash : hashes.first(std::min<size_t>(kIdMapAhead, hashes.size()))) {
    __builtin_prefetch(home_of(map, hash), 0, 2);
  }
}

void IdMap::find(absl::Span<const int64_t> ids, absl::Span<const uint64_t> hashes,
                 absl::Span<RowIndex> rows) const {
  kernels_.find(view(), ids.data(), hashes.data(), static_cast<int64_t>(ids.size()), rows.data());
}

void IdMap::find(absl::Span<const int64_t> ids, absl::Span<RowIndex> rows) const {
  kernels_.find(view(), ids.data(), nullptr, static_cast<int64_t>(ids.size()), rows.data());
}

bool IdMap::passed(const Bucket& bucket) {
  uint32_t marks = 0;
  for (const Entry& entry : bucket.entries) marks |= entry.mark;
  return (marks & kPassed) != 0;
}

IdMap::Entry* IdMap::find_entry(int64_t id, uint64_t hash) const {
  const IdMapView map = view();
  Entry* const home = home_of(map, hash);
  for (uint64_t distance = 0;; ++distance) {
    Entry* const here = behind(map, home, distance);
    for (Entry& entry : bucket_of(here)->entries) {
      if (entry.id == id && entry.row_complement != 0) return &entry;
    }
    if ((here->mark & kPassed) == 0) return nullptr;
  }
}

template <typename Use>
Use IdMap::find_or_insert_each(absl::Span<const int64_t> ids, MakeRow make_row, Use use) {
  Entry none = {};
  IdMapSearch search;
  search.ids = ids.data();
  search.count = static_cast<int64_t>(ids.size());
  search.none = &none;
  kernels_.start(view(), search, 0);
  int64_t end = 0;
  for (int64_t begin = 0; begin < search.count; begin = end) {
    kernels_.locate(view(), search, begin);
    end = std::min(begin + kIdMapBlock, search.count);
    for (int64_t i = begin; i < end; ++i) {
      Entry* entry = search.located[i & (2 * kIdMapBlock - 1)];
      if (ABSL_PREDICT_FALSE(entry->id != ids[i] || entry->row_complement == 0)) {
        bool moved = false;
        entry = find_or_insert_entry(ids[i], entry, &none, make_row, moved);
        if (moved) {
          end = i + 1;
          kernels_.start(view(), search, end);
        }
      }
      use(i, entry);
    }
    use.end_block(end);
  }
  return use;
}

IdMap::Entry* IdMap::find_or_insert_entry(int64_t id, Entry* home, const Entry* none,
                                          MakeRow make_row, bool& moved) {
  const uint64_t hash = hash_(id);
  // If the id came since it was looked for it took this entry.
  const bool fits = home != none && home->row_complement == 0;
  if (!fits) {
    if (Entry* const entry = find_entry(id, hash)) return entry;
  }
  const RowIndex row = make_row(id);
  if (row == kNoRow) return nullptr;
  moved = make_room(hash);
  ++segments_[owners_[hash >> shift_]].size;
  ++size_;
  const Entry entry = {id, ~row, 0};
  if (!fits || moved) {
    const IdMapView map = view();
    return place(map, home_of(map, hash), entry);
  }
  assign(*home, entry);
  return home;
}

// Numbers distinct rows.
struct IdMap::Numbering {
  RowIndex* rows;  // distinct ones; there is space for more
  uint32_t* places;
  uint32_t end;   // of the distinct ones
  uint32_t last;  // that there is space for
  EachBlock each_block;

  void operator()(int64_t i, Entry* entry) {
    if (ABSL_PREDICT_FALSE(entry == nullptr)) {
      places[i] = kNoPlace;
      return;
    }
    // Where the mark says, or else at the end; without branches, as they cannot be predicted.
    const RowIndex row = row_of(*entry);
    const uint32_t mark = entry->mark, marked = std::min(mark & ~kPassed, last);
    const bool known = (rows[marked] == row) & (marked < end);
    const uint32_t place = end ^ ((end ^ marked) & -static_cast<uint32_t>(known));
    rows[end] = row;
    end += static_cast<uint32_t>(!known);
    entry->mark = (mark & kPassed) | place;
    places[i] = place;
  }
  void end_block(int64_t end_of_block) { each_block(end_of_block, {rows, end}); }
};

void IdMap::find_or_insert_distinct(absl::Span<const int64_t> ids, MakeRow make_row,
                                    std::vector<RowIndex>& distinct, absl::Span<uint32_t> places,
                                    EachBlock each_block) {
  const auto end = static_cast<uint32_t>(distinct.size());
  // One more, for what is written at the end and not kept.
  distinct.resize(distinct.size() + ids.size() + 1);
  const Numbering numbering = {distinct.data(), places.data(), end,
                               static_cast<uint32_t>(distinct.size() - 1), each_block};
  distinct.resize(find_or_insert_each(ids, make_row, numbering).end);
}

void IdMap::find_or_insert(absl::Span<const int64_t> ids, absl::Span<RowIndex> rows,
                           MakeRow make_row) {
  struct Rows {
    RowIndex* rows;
    void operator()(int64_t i, const Entry* entry) {
      rows[i] = entry == nullptr ? kNoRow : row_of(*entry);
    }
    void end_block(int64_t) {}
  };
  find_or_insert_each(ids, make_row, Rows{rows.data()});
}

IdMap::Entry* IdMap::place(const IdMapView& map, Entry* home, const Entry& entry) {
  Entry* here = home;
  for (uint64_t distance = 1; full(*bucket_of(here)); ++distance) {
    here->mark |= kPassed;
    here = behind(map, home, distance);
  }
  Entry* const entries = bucket_of(here)->entries;
  int in_use = 0;
  for (int e = 0; e < kEntries - 1; ++e) in_use += entries[e].row_complement != 0;
  assign(entries[in_use], entry);
  return &entries[in_use];
}

// A segment that entries are placed in, and how many each of its buckets has: looking that up in
// the buckets would take longer than the placing.
struct IdMap::Filling {
  Bucket* buckets;
  uint64_t ready;  // buckets from the first on; the others hold what is still to be placed
  uint8_t counts[SegmentMemory::kFullBytes / sizeof(Bucket)] = {};

  // Returns: whether there was a place among the ready ones.
  bool place(const IdMapView& map, Entry* home, Entry entry) {
    Entry* here = home;
    uint64_t at = bucket_of(here) - buckets;
    for (uint64_t distance = 1;; ++distance) {
      if (ABSL_PREDICT_FALSE(at >= ready)) return false;
      if (ABSL_PREDICT_TRUE(counts[at] < kEntries)) break;
      here->mark |= kPassed;
      here = behind(map, home, distance);
      at = bucket_of(here) - buckets;
    }
    entry.mark &= ~kPassed;  // a bucket with room has no such bit
    buckets[at].entries[counts[at]++] = entry;
    return true;
  }
};

int64_t IdMap::place_all(Bucket* from, uint64_t buckets, Filling& zero, Filling& one,
                         int bit) const {
  // A run of them at a time, first gathered without branches: how many of a bucket's entries are in
  // use cannot be predicted.
  constexpr uint64_t kRun = 64;  // divides the buckets of every segment
  Entry entries[kRun * kEntries];
  Filling* const fillings[] = {&zero, &one};
  int64_t ones = 0;
  const IdMapView map = view();
  const bool in_place = zero.buckets == from;
  std::vector<Entry> left;  // entries of `zero`
  for (Bucket* run = from; run != from + buckets; run += kRun) {
    int64_t count = 0;
    for (const Bucket* bucket = run; bucket != run + kRun; ++bucket) {
      for (const Entry& entry : bucket->entries) {
        entries[count] = entry;
        count += entry.row_complement != 0;
      }
    }
    if (in_place) {
      std::fill_n(run, kRun, Bucket{});
      zero.ready = run + kRun - from;
    }
    for (int64_t i = 0; i < count; ++i) {
      const uint64_t hash = hash_(entries[i].id);
      const uint64_t target = hash >> bit & 1;
      ones += static_cast<int64_t>(target);
      Filling& filling = *fillings[target];
      if (ABSL_PREDICT_TRUE(filling.place(map, home_in(filling.buckets, map, hash), entries[i]))) {
        continue;
      }
      left.push_back(entries[i]);
    }
  }
  // Those past the end of a run, or of the segment.
  for (const Entry& entry : left) zero.place(map, home_in(from, map, hash_(entry.id)), entry);
  return ones;
}

bool IdMap::make_room(uint64_t hash) {
  const uint32_t segment = owners_[hash >> shift_];
  if (100 * segments_[segment].size < kGrowPercent * entries_per_segment()) return false;
  if (bucket_bytes() < SegmentMemory::kFullBytes) {
    resize_only_segment(2 * (mask_ + 1));
  } else {
    split(segment);
  }
  return true;
}

void IdMap::resize_only_segment(uint64_t buckets) {
  const int64_t old_bytes = bucket_bytes();
  const uint64_t old_buckets = mask_ + 1;
  Bucket* const old = segments_[0].buckets;
  mask_ = buckets - 1;
  Filling resized = {new_buckets(), buckets};
  place_all(old, old_buckets, resized, resized, 0);
  memory_.release(old, old_bytes);
  segments_[0].buckets = resized.buckets;
  enter(0);
}

void IdMap::reserve(int64_t ids) {
  if (size_ > 0 || segments_.size() > 1) return;
  uint64_t buckets = mask_ + 1;
  const auto fits = [&](uint64_t buckets) {
    return 100 * ids <= kReservePercent * static_cast<int64_t>(buckets) * kEntries;
  };
  constexpr uint64_t kFullBuckets = SegmentMemory::kFullBytes / sizeof(Bucket);
  while (!fits(buckets) && buckets < kFullBuckets) buckets *= 2;
  if (buckets != mask_ + 1) resize_only_segment(buckets);
  int depth = 0;
  while (!fits(buckets << depth)) ++depth;
  if (depth == 0) return;
  memory_.release(segments_[0].buckets, bucket_bytes());
  segments_.clear();
  for (uint64_t prefix = 0; prefix < uint64_t{1} << depth; ++prefix) {
    segments_.push_back({new_buckets(), prefix, depth, 0});
    // Else looking for an id would find a page that is made again when the id is written.
    touch_memory(reinterpret_cast<char*>(segments_.back().buckets), bucket_bytes());
  }
  resize_directory(depth);
}

void IdMap::split(uint32_t segment) {
  const Segment old = segments_[segment];
  if (old.depth == 64 - shift_) resize_directory(old.depth + 1);
  // Half of the entries stay, in the homes that they had, but not where pages are small.
  const bool moves = memory_.alone(old.buckets);
  Segment zero = {moves ? new_buckets() : old.buckets, 2 * old.prefix, old.depth + 1, 0};
  Segment one = {new_buckets(), 2 * old.prefix + 1, old.depth + 1, 0};
  Filling zeros = {zero.buckets, moves ? mask_ + 1 : 0}, ones = {one.buckets, mask_ + 1};
  one.size = place_all(old.buckets, mask_ + 1, zeros, ones, 63 - old.depth);
  zero.size = old.size - one.size;
  if (moves) memory_.release(old.buckets, bucket_bytes());
  segments_[segment] = zero;
  segments_.push_back(one);
  enter(segment);
  enter(static_cast<uint32_t>(segments_.size() - 1));
}

IdMap::Bucket* IdMap::new_buckets() {
  return static_cast<Bucket*>(memory_.allocate(bucket_bytes()));
}

void IdMap::enter(uint32_t segment) {
  const Segment& entered = segments_[segment];
  const int below = 64 - shift_ - entered.depth;
  const size_t begin = entered.prefix << below, count = size_t{1} << below;
  std::fill_n(directory_.begin() + begin, count, entered.buckets);
  std::fill_n(owners_.begin() + begin, count, segment);
}

void IdMap::resize_directory(int depth) {
  shift_ = 64 - depth;
  directory_.resize(size_t{1} << depth);
  owners_.resize(size_t{1} << depth);
  directory_.shrink_to_fit();
  owners_.shrink_to_fit();
  for (size_t i = 0; i < segments_.size(); ++i) enter(static_cast<uint32_t>(i));
}

void IdMap::erase(absl::Span<const int64_t> ids) {
  uint64_t hashes[kBlock];
  for (size_t begin = 0; begin < ids.size(); begin += kBlock) {
    const absl::Span<const int64_t> block = ids.subspan(begin, kBlock);
    prefetch(block, absl::MakeSpan(hashes, block.size()));
    for (size_t i = 0; i < block.size(); ++i) {
      const size_t ahead = std::min<size_t>(i + kIdMapAhead, block.size() - 1);
      __builtin_prefetch(home_of(view(), hashes[ahead]));
      Entry* const entry = find_entry(block[i], hashes[i]);
      if (entry == nullptr) continue;
      remove(segment_of(hashes[i]), entry);
      --segments_[owners_[hashes[i] >> shift_]].size;
      --size_;
      while (shrink(hashes[i])) {
      }
    }
  }
}

void IdMap::remove(Bucket* buckets, Entry* entry) const {
  for (;;) {
    const uint64_t at = bucket_of(entry) - buckets;
    Bucket& bucket = buckets[at];
    Entry* last = bucket.entries + kEntries - 1;
    while (last->row_complement == 0) --last;
    assign(*entry, *last);
    assign(*last, {});
    if (!passed(bucket)) return;
    // The bucket was full, and entries that passed it come back.
    entry = find_passed(buckets, at);
    if (entry == nullptr) return;
    assign(*last, *entry);
  }
}

IdMap::Entry* IdMap::find_passed(Bucket* buckets, uint64_t at) const {
  Entry* first = nullptr;
  uint32_t kinds[kEntries] = {};
  const IdMapView map = view();
  uint64_t behind = at;
  do {
    behind = (behind + 1) & mask_;
    for (Entry& entry : buckets[behind].entries) {
      if (entry.row_complement == 0) break;
      Entry* const home = home_in(buckets, map, hash_(entry.id));
      const uint64_t home_number = bucket_of(home) - buckets;
      if (((behind - home_number) & mask_) < ((behind - at) & mask_)) continue;
      if (first == nullptr) {
        first = &entry;
      } else {
        kinds[home - bucket_of(home)->entries] = kPassed;
      }
    }
  } while (passed(buckets[behind]));
  for (int e = 0; e < kEntries; ++e) {
    uint32_t& mark = buckets[at].entries[e].mark;
    mark = (mark & ~kPassed) | kinds[e];
  }
  return first;
}

bool IdMap::shrink(uint64_t hash) {
  const uint32_t index = owners_[hash >> shift_];
  const Segment& segment = segments_[index];
  if (segments_.size() == 1) {
    if (bucket_bytes() == SegmentMemory::kSmallestBytes) return false;
    if (100 * size_ >= kShrinkPercent * entries_per_segment()) return false;
    resize_only_segment((mask_ + 1) / 2);
    return true;
  }
  const int below = 64 - shift_ - segment.depth;
  const uint32_t sibling = owners_[(segment.prefix ^ 1) << below];
  if (segments_[sibling].depth != segment.depth) return false;
  if (100 * (segment.size + segments_[sibling].size) >=
      2 * kShrinkPercent * entries_per_segment()) {
    return false;
  }
  merge(std::min(index, sibling), std::max(index, sibling));
  return true;
}

void IdMap::merge(uint32_t first, uint32_t second) {
  const Segment a = segments_[first], b = segments_[second];
  Filling merged = {new_buckets(), mask_ + 1};
  for (const Segment& old : {a, b}) {
    place_all(old.buckets, mask_ + 1, merged, merged, 0);
    memory_.release(old.buckets, bucket_bytes());
  }
  segments_[first] = {merged.buckets, a.prefix / 2, a.depth - 1, a.size + b.size};
  segments_[second] = segments_.back();
  segments_.pop_back();
  enter(first);
  if (second < segments_.size()) enter(second);
  const int depth = 64 - shift_;
  const bool halve =
      depth > 1 && std::all_of(segments_.begin(), segments_.end(),
                               [depth](const Segment& s) { return s.depth < depth; });
  if (!halve) return;
  segments_.shrink_to_fit();
  resize_directory(depth - 1);
}

void IdMap::for_each(absl::FunctionRef<void(int64_t, RowIndex)> visit) const {
  for (const Segment& segment : segments_) {
    for (uint64_t at = 0; at <= mask_; ++at) {
      for (const Entry& entry : segment.buckets[at].entries) {
        if (entry.row_complement == 0) break;
        visit(entry.id, row_of(entry));
      }
    }
  }
}

int64_t IdMap::longest_probe() const {
  int64_t longest = 0;
  const IdMapView map = view();
  for (const Segment& segment : segments_) {
    for (uint64_t at = 0; at <= mask_; ++at) {
      for (const Entry& entry : segment.buckets[at].entries) {
        if (entry.row_complement == 0) break;
        const Bucket* const home = bucket_of(home_of(map, hash_(entry.id)));
        const uint64_t behind_home = (at - (home - segment.buckets)) & mask_;
        longest = std::max(longest, static_cast<int64_t>(behind_home) + 1);
      }
    }
  }
  return longest;
}

}  // namespace millrace
