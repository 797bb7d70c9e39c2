#include "embedding/id_map.h"

#include <unistd.h>

#include <algorithm>
#include <utility>

#include "absl/base/attributes.h"
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
  for (const uint64_t hash : hashes.first(std::min<size_t>(kChunk, hashes.size()))) {
    __builtin_prefetch(home_of(hash));
  }
}

template <typename Use>
void IdMap::in_chunks(absl::Span<const uint64_t> hashes, Use use) const {
  // Two chunks take turns: one is used while the next one is on its way.
  Bucket* homes[2][kChunk] = {};
  auto chunk = [&](size_t begin) { return hashes.subspan(std::min(begin, hashes.size()), kChunk); };
  find_homes(chunk(0), homes[0]);
  for (size_t begin = 0, number = 0; begin < hashes.size(); begin += kChunk, ++number) {
    Bucket** const next = homes[(number + 1) % 2];
    find_homes(chunk(begin + kChunk), next);
    if (use(begin, chunk(begin), homes[number % 2], next)) find_homes(chunk(begin + kChunk), next);
  }
}

template <typename Use>
void IdMap::in_blocks(absl::Span<const int64_t> ids, Use use) const {
  uint64_t hashes[kBlock];
  for (size_t begin = 0; begin < ids.size(); begin += kBlock) {
    const absl::Span<const int64_t> block = ids.subspan(begin, kBlock);
    prefetch(block, absl::MakeSpan(hashes, block.size()));
    use(begin, block, absl::MakeConstSpan(hashes, block.size()));
  }
}

void IdMap::find_homes(absl::Span<const uint64_t> hashes, Bucket** homes) const {
  for (size_t i = 0; i < hashes.size(); ++i) homes[i] = home_of(hashes[i]);
}

// Bit e: entry e has this id, or it is 0 and the entry, behind those in use, is free.
inline unsigned IdMap::matches(const Bucket& bucket, int64_t id) {
  unsigned bits = 0;
  for (int e = 0; e < kEntries; ++e) bits |= static_cast<unsigned>(bucket.entries[e].id == id) << e;
  return bits;
}

template <typename Look>
inline void IdMap::look_at_chunk(int64_t count, Bucket* const* homes, Bucket* const* next,
                                 Look look) const {
  // No branches, as the outcome of a comparison cannot be predicted. Prefetches one by one: of many
  // at once the processor drops some. Ids that may stand behind their home come second.
  uint32_t retry[kChunk];
  int64_t retries = 0;
  for (int64_t i = 0; i < count; ++i) {
    __builtin_prefetch(next[i]);
    const bool again = look(i, *homes[i]) & homes[i]->passed();
    retry[retries] = static_cast<uint32_t>(i);
    retries += again;
    __builtin_prefetch(homes[i] + again);
  }
  for (uint64_t distance = 1; retries > 0; ++distance) {
    const int64_t looks = std::exchange(retries, 0);
    for (int64_t r = 0; r < looks; ++r) {
      const uint32_t i = retry[r];
      Bucket& bucket = *behind(homes[i], distance);
      retry[retries] = i;
      retries += look(i, bucket) & bucket.passed();
    }
  }
}

void IdMap::locate(const int64_t* ids, int64_t count, Bucket* const* homes, Bucket* const* next,
                   Entry* none, Entry** located) const {
  look_at_chunk(count, homes, next, [=](int64_t i, Bucket& bucket) ABSL_ATTRIBUTE_ALWAYS_INLINE {
    const unsigned bits = matches(bucket, ids[i]);
    Entry* const entry = &bucket.entries[__builtin_ctz(bits | 1u << (kEntries - 1))];
    // A free entry, taken for that of id 0, may be another id's soon.
    const bool missed = (bits == 0) | (entry->row_complement == 0);
    Entry* const candidates[] = {entry, none};
    located[i] = candidates[missed];
    return missed;
  });
}

void IdMap::find(absl::Span<const int64_t> ids, absl::Span<const uint64_t> hashes,
                 absl::Span<RowIndex> rows) const {
  in_chunks(hashes, [&](size_t begin, absl::Span<const uint64_t> chunk, Bucket* const* homes,
                        Bucket* const* next) {
    const int64_t* const id = ids.data() + begin;
    RowIndex* const row = rows.data() + begin;
    look_at_chunk(static_cast<int64_t>(chunk.size()), homes, next,
                  [=](int64_t i, const Bucket& bucket) ABSL_ATTRIBUTE_ALWAYS_INLINE {
                    RowIndex complement = 0;
                    for (const Entry& entry : bucket.entries) {
                      complement |=
                          entry.row_complement & -static_cast<RowIndex>(entry.id == id[i]);
                    }
                    row[i] = ~complement;
                    return complement == 0;
                  });
    return false;
  });
}

void IdMap::find(absl::Span<const int64_t> ids, absl::Span<RowIndex> rows) const {
  in_blocks(ids,
            [&](size_t begin, absl::Span<const int64_t> block, absl::Span<const uint64_t> hashes) {
              find(block, hashes, rows.subspan(begin, block.size()));
            });
}

IdMap::Entry* IdMap::find_entry(int64_t id, uint64_t hash) const {
  Bucket* const home = home_of(hash);
  for (uint64_t distance = 0;; ++distance) {
    Bucket* const bucket = behind(home, distance);
    const unsigned bits = matches(*bucket, id);
    if (bits != 0) {
      Entry* const entry = &bucket->entries[__builtin_ctz(bits)];
      if (entry->row_complement != 0) return entry;
    }
    if (!bucket->passed()) return nullptr;
  }
}

template <typename Use>
void IdMap::find_or_insert_each(absl::Span<const int64_t> ids, absl::Span<const uint64_t> hashes,
                                MakeRow make_row, Use use) {
  Entry none = {};
  Entry* located[kChunk];
  in_chunks(hashes, [&](size_t begin, absl::Span<const uint64_t> chunk, Bucket** homes,
                        Bucket* const* next) {
    const auto count = static_cast<int64_t>(chunk.size());
    const int64_t* const id = ids.data() + begin;
    bool any_moved = false;
    locate(id, count, homes, next, &none, located);
    for (int64_t i = 0; i < count; ++i) {
      Entry* entry = located[i];
      if (entry->row_complement == 0) {
        bool moved = false;
        entry = find_or_insert_entry(id[i], chunk[i], make_row, moved);
        if (moved) {
          any_moved = true;
          find_homes(chunk.subspan(i), homes);
          locate(id + i, count - i, homes, next, &none, located + i);
        }
      }
      use(begin + i, entry);
    }
    return any_moved;
  });
}

IdMap::Entry* IdMap::find_or_insert_entry(int64_t id, uint64_t hash, MakeRow make_row,
                                          bool& moved) {
  // It may have come since it was looked for.
  if (Entry* const entry = find_entry(id, hash)) return entry;
  const RowIndex row = make_row(id);
  if (row == kNoRow) return nullptr;
  moved = make_room(hash);
  ++segments_[owners_[hash >> shift_]].size;
  ++size_;
  return place(home_of(hash), {id, ~row, 0});
}

void IdMap::find_or_insert_distinct(absl::Span<const int64_t> ids,
                                    absl::Span<const uint64_t> hashes, MakeRow make_row,
                                    std::vector<RowIndex>& distinct, absl::Span<uint32_t> places) {
  auto end = static_cast<uint32_t>(distinct.size());
  distinct.resize(distinct.size() + ids.size());
  RowIndex* const rows = distinct.data();
  find_or_insert_each(ids, hashes, make_row, [&end, rows, places](size_t i, Entry* entry) {
    if (entry == nullptr) {
      places[i] = kNoPlace;
      return;
    }
    // Where the mark says, or else at the end; without branches, as above.
    const RowIndex row = entry->row();
    rows[end] = row;
    const uint32_t marked = std::min(entry->mark & ~kPassed, end);
    const uint32_t place = rows[marked] == row ? marked : end;
    end += static_cast<uint32_t>(place == end);
    entry->mark = (entry->mark & kPassed) | place;
    places[i] = place;
  });
  distinct.resize(end);
}

void IdMap::find_or_insert(absl::Span<const int64_t> ids, absl::Span<RowIndex> rows,
                           MakeRow make_row) {
  in_blocks(ids,
            [&](size_t begin, absl::Span<const int64_t> block, absl::Span<const uint64_t> hashes) {
              find_or_insert_each(block, hashes, make_row, [&](size_t i, const Entry* entry) {
                rows[begin + i] = entry == nullptr ? kNoRow : entry->row();
              });
            });
}

IdMap::Entry* IdMap::place(Bucket* home, const Entry& entry) const {
  Bucket* bucket = home;
  for (uint64_t distance = 1; bucket->full(); ++distance) {
    bucket->set_passed(true);
    bucket = behind(home, distance);
  }
  int in_use = 0;
  for (int e = 0; e < kEntries - 1; ++e) in_use += bucket->entries[e].row_complement != 0;
  assign(bucket->entries[in_use], entry);
  return &bucket->entries[in_use];
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
      place(targets[target] + (hash & mask_), entry);
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
  in_blocks(ids, [&](size_t, absl::Span<const int64_t> block, absl::Span<const uint64_t> hashes) {
    for (size_t i = 0; i < block.size(); ++i) {
      __builtin_prefetch(home_of(hashes[std::min(i + kChunk, block.size() - 1)]));
      Entry* const entry = find_entry(block[i], hashes[i]);
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
    Entry* last = bucket.entries + kEntries - 1;
    while (last->row_complement == 0) --last;
    assign(*entry, *last);
    assign(*last, {});
    if (!bucket.passed()) return;
    // The bucket was full, and entries that passed it come back.
    entry = find_passed(buckets, at);
    bucket.set_passed(entry != nullptr);
    if (entry == nullptr) return;
    assign(*last, *entry);
  }
}

IdMap::Entry* IdMap::find_passed(Bucket* buckets, uint64_t at) const {
  uint64_t behind = at;
  do {
    behind = (behind + 1) & mask_;
    for (Entry& entry : buckets[behind].entries) {
      if (entry.row_complement == 0) break;
      const uint64_t home = hash_(entry.id) & mask_;
      if (((behind - home) & mask_) >= ((behind - at) & mask_)) return &entry;
    }
  } while (buckets[behind].passed());
  return nullptr;
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
