#include "embedding/id_map/id_map.h"

#include <algorithm>
#include <utility>

#include "absl/base/optimization.h"
#include "base/memory/huge_memory.h"
#include "base/memory/make_room.h"
#include "embedding/id_map/hash_seed.h"
#include "embedding/id_map/segment_filling.h"

namespace millrace {
namespace {

constexpr int64_t kGrowPercent = 70;  // the load at which a segment splits
// The load for which reserve() allocates: less than kGrowPercent, since some segments get more ids
// than others.
constexpr int64_t kReservePercent = 68;
// A map of one segment halves the segment below this load. Two segments merge if their sum is below
// twice this load.
constexpr int64_t kShrinkPercent = 15;

}  // namespace

IdMap::IdMap(InstructionSet set, std::shared_ptr<BlockPool> pool)
    : IdMap(secret_hash_seed(), set, std::move(pool)) {}

IdMap::IdMap(uint64_t seed, InstructionSet set, std::shared_ptr<BlockPool> pool)
    : kernels_(id_map_kernels(set)), hash_(seed), memory_(std::move(pool)) {
  start();
}

void IdMap::start() {
  constexpr uint64_t kBuckets = SegmentMemory::kSmallestBytes / sizeof(Bucket);
  std::vector<Bucket*> directory(2);
  std::vector<uint32_t> owners(2);
  std::vector<Segment> segments(1);
  std::vector<int32_t> sizes(1);
  segments[0].buckets = new_buckets(kBuckets).release();
  for (const Segment& segment : segments_) memory_.release(segment.buckets, bucket_bytes());
  directory_.swap(directory);
  owners_.swap(owners);
  segments_.swap(segments);
  sizes_.swap(sizes);
  size_ = 0;
  shift_ = 63;
  set_segment_buckets(kBuckets);
  enter(0);
}

void IdMap::clear() { start(); }

void IdMap::swap(IdMap& other) {
  std::swap(hash_, other.hash_);
  memory_.swap(other.memory_);
  std::swap(directory_, other.directory_);
  std::swap(owners_, other.owners_);
  std::swap(segments_, other.segments_);
  std::swap(sizes_, other.sizes_);
  std::swap(shift_, other.shift_);
  std::swap(mask_, other.mask_);
  std::swap(split_size_, other.split_size_);
  std::swap(size_, other.size_);
}

int64_t IdMap::bytes() const {
  return memory_.bytes() + static_cast<int64_t>(directory_.capacity() * sizeof(Bucket*) +
                                                owners_.capacity() * sizeof(uint32_t) +
                                                segments_.capacity() * sizeof(Segment) +
                                                sizes_.capacity() * sizeof(int32_t));
}

double IdMap::load() const {
  return static_cast<double>(size_) /
         static_cast<double>(entries_per_segment() * static_cast<int64_t>(segments_.size()));
}

void IdMap::find(absl::Span<const int64_t> ids, absl::Span<RowIndex> rows) const {
  kernels_.find(view(), ids.data(), static_cast<int64_t>(ids.size()), rows.data());
}

bool IdMap::passed(const Bucket& bucket) {
  uint32_t marks = 0;
  for (const Entry& entry : bucket.entries) marks |= entry.mark;
  return (marks & kPassed) != 0;
}

IdMap::Entry* IdMap::find_entry(const IdMapView& map, int64_t id, uint64_t hash) {
  Entry* const home = home_of(map, hash);
  Entry* here = home;
  for (uint64_t distance = 1;; ++distance) {
    for (Entry& entry : bucket_of(here)->entries) {
      if (entry.id == id && entry.row_complement != 0) return &entry;
    }
    if ((here->mark & kPassed) == 0) return nullptr;
    here = behind(map, home, distance);
  }
}

template <typename Use>
Use IdMap::find_or_insert_each(absl::Span<const int64_t> ids, MakeRow make_row, Use use) {
  IdMapSearch search;
  const auto count = static_cast<int64_t>(ids.size());
  for (int64_t first = 0; first < count;) {
    search.ids = ids.data() + first;
    search.count = count - first;
    kernels_.start(view(), search);
    // Until an insertion moves entries.
    int64_t begin = 0;
    for (bool moved = false; begin < search.count && !moved;) {
      kernels_.locate(view(), search, begin);
      int64_t end = std::min(begin + kIdMapBlock, search.count);
      for (int64_t i = begin; i < end; ++i) {
        const int64_t id = search.ids[i];
        Entry* entry = search.located[i & (2 * kIdMapBlock - 1)];
        if (ABSL_PREDICT_FALSE(entry->id != id || entry->row_complement == 0)) {
          // Another id of this search may have taken the entry located for this id. Then the id is
          // searched again. If the entry is still free, the id is not in the map: an insertion of
          // the id would have taken this entry, the first free one, since nothing is erased during
          // the search.
          entry = entry->row_complement != 0
                      ? find_or_insert_anew(id, make_row, moved)
                      : insert_at(entry, home_at(search.homes, i), id, make_row, moved);
          if (ABSL_PREDICT_FALSE(moved)) end = i + 1;
        }
        use(first + i, entry);
      }
      begin = end;
      use.end_block(first + end);
    }
    first += begin;
  }
  return use;
}

inline IdMap::Entry* IdMap::insert_at(Entry* free, Entry* home, int64_t id, MakeRow make_row,
                                      bool& moved) {
  const RowIndex row = make_row(id);
  if (row == kNoRow) return nullptr;
  const uint64_t hash = hash_(id);
  moved = count_in(hash);
  if (ABSL_PREDICT_FALSE(moved || free == nullptr)) {
    return place_entry(view(), segment_of(hash), {id, ~row, 0}, hash);
  }
  // The distance is not predictable, but rarely above 1. The first step is free of branches.
  const uint64_t distance = (bucket_of(free) - bucket_of(home)) & mask_;
  home->mark |= distance == 0 ? 0 : kPassed;
  for (uint64_t between = 1; between < distance; ++between) {
    behind(view(), home, between)->mark |= kPassed;
  }
  *free = {id, ~row, 0};
  return free;
}

IdMap::Entry* IdMap::find_or_insert_anew(int64_t id, MakeRow make_row, bool& moved) {
  Entry* const found = find_entry(view(), id, hash_(id));
  return found != nullptr ? found : insert_at(nullptr, nullptr, id, make_row, moved);
}

inline bool IdMap::count_in(uint64_t hash) {
  const bool grows = sizes_[owners_[hash >> shift_]] >= split_size_;
  if (ABSL_PREDICT_FALSE(grows)) make_room(hash);  // if make_room() throws, nothing is counted
  ++sizes_[owners_[hash >> shift_]];
  ++size_;
  return grows;
}

// Numbers the distinct rows of a step.
struct IdMap::Numbering {
  RowIndex* rows;  // distinct rows, with space for more
  uint32_t* places;
  uint32_t end;   // number of distinct rows
  uint32_t last;  // the last index with space
  EachBlock each_block;

  void operator()(int64_t i, Entry* entry) {
    if (ABSL_PREDICT_FALSE(entry == nullptr)) {
      places[i] = kNoPlace;
      return;
    }
    // The place in the entry's mark if it holds this row, else the end. Free of branches, which
    // would be mispredicted.
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
  // One more element, since every iteration writes one past the end.
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

void IdMap::make_room(uint64_t hash) {
  if (bucket_bytes() < SegmentMemory::kFullBytes) return resize_only_segment(2 * (mask_ + 1));
  split(owners_[hash >> shift_]);
}

void IdMap::set_segment_buckets(uint64_t buckets) {
  mask_ = buckets - 1;
  split_size_ = static_cast<int32_t>((kGrowPercent * entries_per_segment() + 99) / 100);
}

void IdMap::resize_only_segment(uint64_t buckets) {
  OwnedBuckets fresh = new_buckets(buckets);
  const int64_t old_bytes = bucket_bytes();
  const uint64_t old_buckets = mask_ + 1;
  Bucket* const old = segments_[0].buckets;
  set_segment_buckets(buckets);
  place_entries(view(), old, old_buckets, fresh.get());
  memory_.release(old, old_bytes);
  segments_[0].buckets = fresh.release();
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
  // Allocates before entries move, so that a failed allocation loses nothing.
  const size_t count = size_t{1} << depth;
  segments_.reserve(count);
  sizes_.reserve(count);
  std::vector<OwnedBuckets> fresh;
  while (fresh.size() < count) {
    fresh.push_back(new_buckets(mask_ + 1));
    // Touches pages now: a search would map the shared zero page, and the first insertion would
    // fault again.
    touch_memory(reinterpret_cast<char*>(fresh.back().get()), bucket_bytes());
  }
  resize_directory(depth);
  memory_.release(segments_[0].buckets, bucket_bytes());
  segments_.clear();
  sizes_.assign(count, 0);
  for (uint64_t prefix = 0; prefix < count; ++prefix) {
    segments_.push_back({fresh[prefix].release(), prefix, depth});
    enter(static_cast<uint32_t>(prefix));
  }
}

void IdMap::split(uint32_t segment) {
  const Segment old = segments_[segment];
  // Allocates before entries move, so that a failed allocation loses nothing.
  make_room_for_one(segments_);
  make_room_for_one(sizes_);
  if (old.depth == 64 - shift_) resize_directory(old.depth + 1);
  OwnedBuckets fresh = new_buckets(mask_ + 1, /*free=*/false), moved;
  // Half of the entries keep their buckets. Memory in small pages is replaced instead of reused.
  if (memory_.alone(old.buckets)) moved = new_buckets(mask_ + 1, /*free=*/false);
  Bucket* const staying = moved != nullptr ? moved.get() : old.buckets;
  const int32_t size_of_one = split_entries(kernels_, view(), old.buckets,
                                            uint64_t{1} << (63 - old.depth), staying, fresh.get());
  if (moved.release() != nullptr) memory_.release(old.buckets, bucket_bytes());
  segments_[segment] = {staying, 2 * old.prefix, old.depth + 1};
  segments_.push_back({fresh.release(), 2 * old.prefix + 1, old.depth + 1});
  sizes_.push_back(size_of_one);
  sizes_[segment] -= size_of_one;
  enter(segment);
  enter(static_cast<uint32_t>(segments_.size() - 1));
}

IdMap::OwnedBuckets IdMap::new_buckets(uint64_t count, bool free) {
  const auto bytes = static_cast<int64_t>(count * sizeof(Bucket));
  void* const memory = free ? memory_.allocate_zeros(bytes) : memory_.allocate(bytes);
  return OwnedBuckets(static_cast<Bucket*>(memory), {&memory_, bytes});
}

void IdMap::enter(uint32_t segment) {
  const Segment& entered = segments_[segment];
  const int below = 64 - shift_ - entered.depth;
  const size_t begin = entered.prefix << below, count = size_t{1} << below;
  std::fill_n(directory_.begin() + begin, count, entered.buckets);
  std::fill_n(owners_.begin() + begin, count, segment);
}

void IdMap::resize_directory(int depth) {
  std::vector<Bucket*> directory(size_t{1} << depth);
  std::vector<uint32_t> owners(size_t{1} << depth);
  directory_.swap(directory);
  owners_.swap(owners);
  shift_ = 64 - depth;
  for (size_t i = 0; i < segments_.size(); ++i) enter(static_cast<uint32_t>(i));
}

void IdMap::erase(absl::Span<const int64_t> ids) {
  uint64_t hashes[kBlock];
  for (size_t begin = 0; begin < ids.size(); begin += kBlock) {
    const absl::Span<const int64_t> block = ids.subspan(begin, kBlock);
    for (size_t i = 0; i < block.size(); ++i) hashes[i] = hash_(block[i]);
    for (size_t i = 0; i < std::min<size_t>(kIdMapAhead, block.size()); ++i) {
      __builtin_prefetch(home_of(view(), hashes[i]));
    }
    for (size_t i = 0; i < block.size(); ++i) {
      const size_t ahead = std::min<size_t>(i + kIdMapAhead, block.size() - 1);
      __builtin_prefetch(home_of(view(), hashes[ahead]));
      Entry* const entry = find_entry(view(), block[i], hashes[i]);
      if (entry == nullptr) continue;
      remove(segment_of(hashes[i]), entry);
      --sizes_[owners_[hashes[i] >> shift_]];
      --size_;
      while (shrink(hashes[i])) {
      }
    }
  }
}

void IdMap::remove(Bucket* buckets, Entry* entry) {
  for (;;) {
    const uint64_t at = bucket_of(entry) - buckets;
    Bucket& bucket = buckets[at];
    Entry* last = bucket.entries + kEntries - 1;
    while (last->row_complement == 0) --last;
    assign(*entry, *last);
    assign(*last, {});
    if (!passed(bucket)) return;
    // The bucket was full; an entry past the bucket may move into it.
    entry = find_passed(buckets, at);
    if (entry == nullptr) return;
    assign(*last, *entry);
  }
}

IdMap::Entry* IdMap::find_passed(Bucket* buckets, uint64_t at) {
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
  // Updates the bits of the bucket: a bit remains only if an entry of its kind is still past the
  // bucket.
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
  if (100 * (sizes_[index] + sizes_[sibling]) >= 2 * kShrinkPercent * entries_per_segment()) {
    return false;
  }
  merge(std::min(index, sibling), std::max(index, sibling));
  return true;
}

void IdMap::merge(uint32_t first, uint32_t second) {
  const Segment a = segments_[first], b = segments_[second];
  OwnedBuckets fresh = new_buckets(mask_ + 1);
  for (const Segment& old : {a, b}) {
    place_entries(view(), old.buckets, mask_ + 1, fresh.get());
    memory_.release(old.buckets, bucket_bytes());
  }
  segments_[first] = {fresh.release(), a.prefix / 2, a.depth - 1};
  sizes_[first] += sizes_[second];
  segments_[second] = segments_.back();
  segments_.pop_back();
  sizes_[second] = sizes_.back();
  sizes_.pop_back();
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

bool IdMap::is_consistent() const {
  const IdMapView map = view();
  int64_t size = 0;
  for (size_t s = 0; s < segments_.size(); ++s) {
    Bucket* const buckets = segments_[s].buckets;
    int64_t size_of_segment = 0;
    for (uint64_t at = 0; at <= mask_; ++at) {
      int in_use = 0;
      for (Entry& entry : buckets[at].entries) {
        if (entry.row_complement == 0) continue;
        const bool gap = &entry != buckets[at].entries + in_use++;
        // find_entry() succeeds only if all buckets from the home to the entry have the bit of the
        // entry's kind. Below, buckets with such bits must be full.
        if (gap || find_entry(map, entry.id, hash_(entry.id)) != &entry) return false;
      }
      if (in_use < kEntries && passed(buckets[at])) return false;
      size_of_segment += in_use;
    }
    if (size_of_segment != sizes_[s]) return false;
    size += size_of_segment;
  }
  return size == size_;
}

}  // namespace millrace
