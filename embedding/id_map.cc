#include "embedding/id_map.h"

#include <unistd.h>

#include <algorithm>
#include <utility>

#include "base/log.h"

namespace millrace {
namespace {

constexpr int64_t kGrowPercent = 70;  // load at which a segment splits
// A map of one segment halves it at this load; two segments merge where that makes twice as much.
constexpr int64_t kShrinkPercent = 15;

uint64_t seed_from_system() {
  uint64_t seed = 0;
  MILLRACE_CHECK(getentropy(&seed, sizeof seed) == 0);
  return seed;
}

}  // namespace

IdMap::IdMap() : IdMap(seed_from_system()) {}

IdMap::IdMap(uint64_t seed) : hash_(seed) { start(); }

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
  for (size_t i = 0; i < ids.size(); ++i) {
    const uint64_t hash = hash_(ids[i]);
    hashes[i] = hash;
    __builtin_prefetch(segment_of(hash) + (hash & mask_));
  }
}

void IdMap::find_chunk(const int64_t* ids, const uint64_t* hashes, int64_t count,
                       RowIndex* rows) const {
  // Homes are read without branches, as the outcome of a comparison cannot be predicted. Those few
  // ids that may stand behind their full home come second.
  uint32_t retry[kChunk];
  int64_t retries = 0;
  for (int64_t i = 0; i < count; ++i) {
    const int64_t id = ids[i];
    const Bucket& home = segment_of(hashes[i])[hashes[i] & mask_];
    // From the last to the first: entries in use stand before free ones, whose id is 0.
    RowIndex complement = 0;
    for (int e = kEntries - 1; e >= 0; --e) {
      complement = home.entries[e].id == id ? home.entries[e].row_complement : complement;
    }
    rows[i] = ~complement;
    retry[retries] = static_cast<uint32_t>(i);
    retries += static_cast<int64_t>(complement == 0) & static_cast<int64_t>(home.full());
  }
  for (int64_t r = 0; r < retries; ++r) {
    const uint32_t i = retry[r];
    const Entry* entry = find_behind_home(ids[i], hashes[i]);
    if (entry != nullptr) rows[i] = entry->row();
  }
}

IdMap::Entry* IdMap::find_behind_home(int64_t id, uint64_t hash) const {
  Bucket* const buckets = segment_of(hash);
  uint64_t at = hash & mask_;
  do {
    at = (at + 1) & mask_;
    for (Entry& entry : buckets[at].entries) {
      if (entry.id == id && entry.row_complement != 0) return &entry;
    }
  } while (buckets[at].full());
  return nullptr;
}

IdMap::Entry* IdMap::find_entry(int64_t id, uint64_t hash) const {
  Bucket& home = segment_of(hash)[hash & mask_];
  for (Entry& entry : home.entries) {
    if (entry.id == id && entry.row_complement != 0) return &entry;
  }
  return home.full() ? find_behind_home(id, hash) : nullptr;
}

void IdMap::find(absl::Span<const int64_t> ids, absl::Span<const uint64_t> hashes,
                 absl::Span<RowIndex> rows) const {
  const auto total = static_cast<int64_t>(ids.size());
  for (int64_t begin = 0; begin < total; begin += kChunk) {
    find_chunk(ids.data() + begin, hashes.data() + begin, std::min(kChunk, total - begin),
               rows.data() + begin);
  }
}

template <typename Use>
void IdMap::in_chunks(absl::Span<const int64_t> ids, Use use) const {
  // The next chunk is on its way while this one is used.
  uint64_t hashes[2][kChunk];
  auto chunk = [&](size_t begin) { return ids.subspan(std::min(begin, ids.size()), kChunk); };
  auto hashes_of = [&](size_t begin) {
    return absl::MakeSpan(hashes[begin / kChunk % 2], chunk(begin).size());
  };
  prefetch(chunk(0), hashes_of(0));
  for (size_t begin = 0; begin < ids.size(); begin += kChunk) {
    prefetch(chunk(begin + kChunk), hashes_of(begin + kChunk));
    use(begin, chunk(begin), hashes_of(begin).data());
  }
}

void IdMap::find(absl::Span<const int64_t> ids, absl::Span<RowIndex> rows) const {
  in_chunks(ids, [&](size_t begin, absl::Span<const int64_t> chunk, const uint64_t* hashes) {
    find_chunk(chunk.data(), hashes, static_cast<int64_t>(chunk.size()), rows.data() + begin);
  });
}

void IdMap::locate(const int64_t* ids, const uint64_t* hashes, int64_t count, Entry* none,
                   Entry** located) const {
  // As in find_chunk.
  uint32_t retry[kChunk];
  int64_t retries = 0;
  for (int64_t i = 0; i < count; ++i) {
    const int64_t id = ids[i];
    Bucket& home = segment_of(hashes[i])[hashes[i] & mask_];
    Entry* entry = none;
    for (int e = kEntries - 1; e >= 0; --e) {
      entry = home.entries[e].id == id ? &home.entries[e] : entry;
    }
    // A free entry, taken for that of id 0, may be another id's soon.
    const bool missed = entry->row_complement == 0;
    located[i] = missed ? none : entry;
    retry[retries] = static_cast<uint32_t>(i);
    retries += static_cast<int64_t>(missed) & static_cast<int64_t>(home.full());
  }
  for (int64_t r = 0; r < retries; ++r) {
    const uint32_t i = retry[r];
    Entry* const entry = find_behind_home(ids[i], hashes[i]);
    if (entry != nullptr) located[i] = entry;
  }
}

template <typename Use>
void IdMap::find_or_insert_chunk(const int64_t* ids, const uint64_t* hashes, int64_t count,
                                 MakeRow make_row, Use use) {
  Entry none = {};
  Entry* located[kChunk];
  locate(ids, hashes, count, &none, located);
  for (int64_t i = 0; i < count; ++i) {
    Entry* entry = located[i];
    if (entry->row_complement == 0) {
      entry = find_entry(ids[i], hashes[i]);  // it may have come within this chunk
      if (entry == nullptr) {
        const RowIndex row = make_row(ids[i]);
        if (row != kNoRow) {
          const bool moved = make_room(hashes[i]);
          entry = insert({ids[i], ~row, 0}, hashes[i]);
          if (moved) locate(ids + i, hashes + i, count - i, &none, located + i);
        }
      }
    }
    use(i, entry);
  }
}

void IdMap::find_or_insert_distinct(absl::Span<const int64_t> ids,
                                    absl::Span<const uint64_t> hashes, MakeRow make_row,
                                    std::vector<RowIndex>& distinct, absl::Span<uint32_t> places) {
  const auto total = static_cast<int64_t>(ids.size());
  for (int64_t begin = 0; begin < total; begin += kChunk) {
    const int64_t count = std::min(kChunk, total - begin);
    auto end = static_cast<uint32_t>(distinct.size());
    distinct.resize(distinct.size() + count);
    RowIndex* const rows = distinct.data();
    uint32_t* const place_of = places.data() + begin;
    auto number = [&end, rows, place_of](int64_t i, Entry* entry) {
      if (entry == nullptr) {
        place_of[i] = kNoPlace;
        return;
      }
      // Where the mark says, or else at the end; without branches, as with find_chunk.
      const RowIndex row = entry->row();
      rows[end] = row;
      const uint32_t marked = std::min(entry->mark, end);
      const uint32_t place = rows[marked] == row ? marked : end;
      end += static_cast<uint32_t>(place == end);
      entry->mark = place;
      place_of[i] = place;
    };
    find_or_insert_chunk(ids.data() + begin, hashes.data() + begin, count, make_row, number);
    distinct.resize(end);
  }
}

void IdMap::find_or_insert(absl::Span<const int64_t> ids, absl::Span<RowIndex> rows,
                           MakeRow make_row) {
  in_chunks(ids, [&](size_t begin, absl::Span<const int64_t> chunk, const uint64_t* hashes) {
    RowIndex* const row_of = rows.data() + begin;
    auto keep = [row_of](int64_t i, const Entry* entry) {
      row_of[i] = entry == nullptr ? kNoRow : entry->row();
    };
    find_or_insert_chunk(chunk.data(), hashes, static_cast<int64_t>(chunk.size()), make_row, keep);
  });
}

IdMap::Entry* IdMap::insert(const Entry& entry, uint64_t hash) {
  ++segments_[owners_[hash >> shift_]].size;
  ++size_;
  return place(segment_of(hash), entry, hash);
}

IdMap::Entry* IdMap::place(Bucket* buckets, const Entry& entry, uint64_t hash) const {
  uint64_t at = hash & mask_;
  while (buckets[at].full()) at = (at + 1) & mask_;
  Entry* free = buckets[at].entries;
  while (free->row_complement != 0) ++free;
  *free = entry;
  return free;
}

int64_t IdMap::place_all(const Bucket* from, uint64_t buckets, Bucket* zero, Bucket* one,
                         int bit) const {
  Bucket* const targets[] = {zero, one};
  int64_t counts[] = {0, 0};
  for (const Bucket* bucket = from; bucket != from + buckets; ++bucket) {
    for (const Entry& entry : bucket->entries) {
      if (entry.row_complement == 0) break;
      const uint64_t hash = hash_(entry.id);
      const uint64_t target = hash >> bit & 1;
      ++counts[target];
      place(targets[target], entry, hash);
    }
  }
  return counts[1];
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
  Bucket* const resized = new_buckets();
  place_all(old, old_buckets, resized, resized, 0);
  memory_.release(old, old_bytes);
  segments_[0].buckets = resized;
  enter(0);
}

void IdMap::split(uint32_t segment) {
  const Segment old = segments_[segment];
  if (old.depth == 64 - shift_) resize_directory(old.depth + 1);
  Segment zero = {new_buckets(), 2 * old.prefix, old.depth + 1, 0};
  Segment one = {new_buckets(), 2 * old.prefix + 1, old.depth + 1, 0};
  one.size = place_all(old.buckets, mask_ + 1, zero.buckets, one.buckets, 63 - old.depth);
  zero.size = old.size - one.size;
  memory_.release(old.buckets, bucket_bytes());
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
  in_chunks(ids, [&](size_t, absl::Span<const int64_t> chunk, const uint64_t* hashes) {
    for (size_t i = 0; i < chunk.size(); ++i) {
      Entry* const entry = find_entry(chunk[i], hashes[i]);
      if (entry == nullptr) continue;
      remove(segment_of(hashes[i]), entry);
      --segments_[owners_[hashes[i] >> shift_]].size;
      --size_;
      while (shrink(hashes[i])) {
      }
    }
  });
}

void IdMap::remove(Bucket* buckets, Entry* entry) const {
  for (;;) {
    const uint64_t at = (reinterpret_cast<char*>(entry) - reinterpret_cast<char*>(buckets)) /
                        static_cast<int64_t>(sizeof(Bucket));
    Bucket& bucket = buckets[at];
    const bool was_full = bucket.full();
    Entry* last = bucket.entries + kEntries - 1;
    while (last->row_complement == 0) --last;
    *entry = *last;
    *last = {};
    if (!was_full) return;
    // Entries from here on that passed over this bucket come back.
    entry = find_passed(buckets, at);
    if (entry == nullptr) return;
    *last = *entry;
  }
}

IdMap::Entry* IdMap::find_passed(Bucket* buckets, uint64_t at) const {
  uint64_t behind = at;
  do {
    behind = (behind + 1) & mask_;
    for (Entry& entry : buckets[behind].entries) {
      if (entry.row_complement == 0) return nullptr;
      const uint64_t home = hash_(entry.id) & mask_;
      if (((behind - home) & mask_) >= ((behind - at) & mask_)) return &entry;
    }
  } while (true);
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
  Bucket* const merged = new_buckets();
  for (const Segment& old : {a, b}) {
    place_all(old.buckets, mask_ + 1, merged, merged, 0);
    memory_.release(old.buckets, bucket_bytes());
  }
  segments_[first] = {merged, a.prefix / 2, a.depth - 1, a.size + b.size};
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
        visit(entry.id, entry.row());
      }
    }
  }
}

int64_t IdMap::longest_probe() const {
  int64_t longest = 0;
  for (const Segment& segment : segments_) {
    for (uint64_t at = 0; at <= mask_; ++at) {
      for (const Entry& entry : segment.buckets[at].entries) {
        if (entry.row_complement == 0) break;
        const uint64_t behind_home = (at - hash_(entry.id)) & mask_;
        longest = std::max(longest, static_cast<int64_t>(behind_home) + 1);
      }
    }
  }
  return longest;
}

}  // namespace millrace
