// Compiled once per instruction set: //bazel:isa_kernels.bzl lists the permitted includes.
#include "embedding/id_map/id_map_kernels.h"

#include <immintrin.h>

#include <cstdint>

#include "base/isa/isa_namespace.h"
#include "embedding/id_map/id_hash_secrets.h"
#include "embedding/id_map/id_map_bucket.h"

namespace millrace::MILLRACE_ISA {
namespace {

// Results of comparisons are unpredictable, so no branch depends on them. Homes are prefetched
// singly, each during a comparison, since the processor drops some of many simultaneous prefetches.
// Each home is prefetched twice: first into the second-level cache, which accepts more prefetches
// at a time, then into the first-level cache, since the latency of the second level grows when
// another core is busy.

constexpr int64_t kNear = kIdMapNear;
constexpr int64_t kAhead = kIdMapAhead;
constexpr int64_t kBlock = kIdMapBlock;

// New homes overwrite only homes that are not used any more. The copy after the ring belongs to one
// block. A mask has a bit for each id of a block.
static_assert(kAhead % kBlock == 0 && IdMapHomes::kSize >= kAhead + 3 * kBlock);
static_assert((IdMapHomes::kSize & (IdMapHomes::kSize - 1)) == 0);
static_assert(kNear <= kBlock && kBlock <= 32);

// The entries of a bucket that have the id, and that are in use: bit kStride × e for entry e. If
// the id is 0, `same` may include free entries.
struct Matches {
  unsigned same, used;
};

#if defined(__AVX512F__)

constexpr int kStride = 2;

inline __m512i load(const IdMapBucket& bucket) { return _mm512_load_si512(&bucket); }

// A vector type with operators: a bucket, or one word of each of eight ids.
using Words = uint64_t __attribute__((vector_size(64)));

inline RowIndex row_complement(const IdMapBucket& bucket, int64_t id) {
  const __m512i all = load(bucket);
  const __mmask8 same = _mm512_mask_cmpeq_epi64_mask(0x55, all, _mm512_set1_epi64(id));
  const __m512i row = _mm512_maskz_compress_epi64(static_cast<__mmask8>(same << 1), all);
  return static_cast<RowIndex>(row[0]);
}

inline Matches matches(const IdMapBucket& bucket, int64_t id) {
  const __m512i all = load(bucket);
  unsigned same = _mm512_mask_cmpeq_epi64_mask(0x55, all, _mm512_set1_epi64(id));
  unsigned used = _mm512_mask_test_epi64_mask(0xaa, all, _mm512_set1_epi64(0xffffffff));
  // Forces general registers. GCC would continue with mask registers and move the values back and
  // forth.
  asm("" : "+r"(same), "+r"(used));
  return {same, used >> 1};
}

#elif defined(__AVX2__)

constexpr int kStride = 1;

// The columns of entries in the order 0, 2, 1, 3.
struct Columns {
  __m256i ids, others;
};

inline Columns load(const IdMapBucket& bucket) {
  const auto halves = reinterpret_cast<const __m256i*>(&bucket);
  const __m256i low = _mm256_load_si256(halves), high = _mm256_load_si256(halves + 1);
  return {_mm256_unpacklo_epi64(low, high), _mm256_unpackhi_epi64(low, high)};
}

inline RowIndex row_complement(const IdMapBucket& bucket, int64_t id) {
  const Columns all = load(bucket);
  const __m256i same = _mm256_cmpeq_epi64(all.ids, _mm256_set1_epi64x(id));
  const __m256i found = _mm256_and_si256(same, all.others);
  const __m128i half =
      _mm_or_si128(_mm256_castsi256_si128(found), _mm256_extracti128_si256(found, 1));
  const __m128i quarter = _mm_or_si128(half, _mm_unpackhi_epi64(half, half));
  return static_cast<RowIndex>(_mm_cvtsi128_si32(quarter));
}

// Returns the upper bits of four columns, in the order of the entries.
inline unsigned bits(__m256i columns) {
  return _mm256_movemask_pd(_mm256_castsi256_pd(_mm256_permute4x64_epi64(columns, 0xd8)));
}

inline Matches matches(const IdMapBucket& bucket, int64_t id) {
  const Columns all = load(bucket);
  const unsigned same = bits(_mm256_cmpeq_epi64(all.ids, _mm256_set1_epi64x(id)));
  const __m256i rows = _mm256_slli_epi64(all.others, 32);
  const unsigned free = bits(_mm256_cmpeq_epi64(rows, _mm256_setzero_si256()));
  return {same, free ^ 0xf};
}

#else

constexpr int kStride = 1;

inline RowIndex row_complement(const IdMapBucket& bucket, int64_t id) {
  RowIndex complement = 0;
  for (const IdMapEntry& entry : bucket.entries) {
    complement |= entry.row_complement & -static_cast<RowIndex>(entry.id == id);
  }
  return complement;
}

inline Matches matches(const IdMapBucket& bucket, int64_t id) {
  Matches all = {0, 0};
  for (int e = 0; e < kIdMapEntries; ++e) {
    const IdMapEntry& entry = bucket.entries[e];
    all.same |= static_cast<unsigned>(entry.id == id) << e;
    all.used |= static_cast<unsigned>(entry.row_complement != 0) << e;
  }
  return all;
}

#endif

// Returns the entry of an id in a bucket; otherwise the first free entry; otherwise nullptr.
inline IdMapEntry* place_in(IdMapBucket* bucket, int64_t id) {
  constexpr unsigned kBits = kStride * kIdMapEntries;
  constexpr unsigned kAll = kStride == 2 ? 0x55 : 0xf;  // all entries
  const Matches all = matches(*bucket, id);
  // In this order: the id's entry, the free entries, neither.
  const unsigned bits = (all.same & all.used) | (all.used ^ kAll) << kBits | 1u << 2 * kBits;
  const auto bit = static_cast<unsigned>(__builtin_ctz(bits));
  auto entry = reinterpret_cast<IdMapEntry*>(reinterpret_cast<char*>(bucket) +
                                             bit % kBits * (sizeof(IdMapEntry) / kStride));
  // A conditional move, instead of the branch that GCC generates.
  asm("cmp %2, %1\n\tcmovae %3, %0" : "+r"(entry) : "r"(bit), "i"(2 * kBits), "r"(nullptr) : "cc");
  return entry;
}

inline bool passed(const IdMapEntry* home) { return home->mark >> 31; }

// Prefetches into the second-level cache.
inline void prefetch(const IdMapEntry* entry) { __builtin_prefetch(entry, 0, 2); }

// Returns the homes of the block of ids that begins at `begin` in the search.
inline IdMapEntry** block_at(IdMapHomes& homes, int64_t begin) {
  return homes.ring + (begin & (IdMapHomes::kSize - 1));
}

// Finds the homes of a block of ids.
inline void find_homes(const IdMapView& map, const int64_t* ids, IdMapEntry** homes) {
#if defined(__AVX512F__)
  uint64_t segments[kBlock], offsets[kBlock];
  for (int64_t i = 0; i < kBlock; i += 8) {
    const Words hashes = hash_words(map.secrets, Words(_mm512_loadu_si512(ids + i)));
    _mm512_storeu_si512(segments + i, __m512i(hashes >> map.shift));
    _mm512_storeu_si512(offsets + i, __m512i(hashes & map.offsets & ~(sizeof(IdMapEntry) - 1)));
  }
  for (int64_t i = 0; i < kBlock; ++i) homes[i] = entry_at(map.directory[segments[i]], offsets[i]);
#else
  for (int64_t i = 0; i < kBlock; ++i) homes[i] = home_of(map, hash_id(map.secrets, ids[i]));
#endif
}

// Finds the homes of the block of ids at `begin`. Past the last id, the homes are any bucket.
inline void approach(const IdMapView& map, const int64_t* ids, int64_t begin, int64_t count,
                     IdMapHomes& homes) {
  IdMapEntry** const block = block_at(homes, begin);
  if (count - begin >= kBlock) {
    find_homes(map, ids + begin, block);
  } else {
    for (int64_t i = 0; i < kBlock; ++i) {
      block[i] = begin + i < count ? home_of(map, hash_id(map.secrets, ids[begin + i]))
                                   : map.directory[0]->entries;
      asm("" ::: "memory");  // rare and short: not vectorized
    }
  }
  if (block != homes.ring) return;
  for (int64_t i = 0; i < kNear; ++i) homes.ring[IdMapHomes::kSize + i] = homes.ring[i];
}

// Finds and prefetches the homes of the first blocks, before any comparison.
inline void approach_first(const IdMapView& map, const int64_t* ids, int64_t count,
                           IdMapHomes& homes) {
  for (int64_t i = 0; i < kAhead; i += kBlock) approach(map, ids, i, count, homes);
  for (int64_t i = 0; i < kAhead; ++i) prefetch(homes.ring[i]);
}

// A search has three stages per block of ids: home buckets; the bucket after the home; buckets
// further on. While other blocks are processed, the prefetches of a stage complete. Each stage
// calls look(i, entry) for the ids of the block at `begin`, where `entry` is home_at(homes, i) or
// the same entry of a later bucket. If look() returns true, the next stage continues with the id.
// The first two stages return a mask of these ids, which the next stage gets as `left`.

// Runs the first stage. Also finds the homes of ids that are kAhead further.
template <typename Look>
inline uint32_t look_at_homes(const IdMapView& map, const int64_t* ids, int64_t begin,
                              int64_t count, IdMapHomes& homes, Look look) {
  // Outside of the loop below, since both together exceed the registers.
  approach(map, ids, begin + kAhead, count, homes);
  const int64_t used = count - begin < kBlock ? count - begin : kBlock;
  IdMapEntry** const block = block_at(homes, begin);
  IdMapEntry** const ahead = block_at(homes, begin + kAhead);
  uint32_t left = 0;
  for (int64_t i = 0; i < used; ++i) {
    IdMapEntry* const home = block[i];
    __builtin_prefetch(block[i + kNear]);
    prefetch(ahead[i]);
    left |= static_cast<uint32_t>(look(begin + i, home)) << i;
  }
  for (uint32_t each = left; each != 0; each &= each - 1) {
    prefetch(home_at(homes, begin + __builtin_ctz(each)) + kIdMapEntries);
  }
  return left;
}

template <typename Look>
inline uint32_t look_behind(const IdMapView& map, int64_t begin, uint32_t left,
                            const IdMapHomes& homes, Look look) {
  uint32_t further = 0;
  for (; left != 0; left &= left - 1) {
    const int bit = __builtin_ctz(left);
    IdMapEntry* const home = home_at(homes, begin + bit);
    const bool more = look(begin + bit, behind(map, home, 1));
    // If look() returned false, prefetches the home again instead of branching.
    prefetch(home + more * 2 * kIdMapEntries);
    prefetch(home + more * 3 * kIdMapEntries);
    further |= static_cast<uint32_t>(more) << bit;
  }
  return further;
}

template <typename Look>
inline void look_further(const IdMapView& map, int64_t begin, uint32_t left,
                         const IdMapHomes& homes, Look look) {
  for (; left != 0; left &= left - 1) {
    const int64_t i = begin + __builtin_ctz(left);
    uint64_t distance = 2;
    while (look(i, behind(map, home_at(homes, i), distance))) ++distance;
  }
}

void find(const IdMapView& view, const int64_t* ids, int64_t count, RowIndex* rows) {
  const IdMapView map = view;
  // Returns true if the id may be in a later bucket.
  const auto look = [ids, rows](int64_t i, IdMapEntry* here) {
    const RowIndex complement = row_complement(*bucket_of(here), ids[i]);
    rows[i] = ~complement;
    return (complement == 0) & passed(here);
  };
  IdMapHomes homes;
  approach_first(map, ids, count, homes);
  uint32_t left = 0, further = 0;  // of the previous block; of the block before it
  for (int64_t begin = 0; begin < count + 2 * kBlock; begin += kBlock) {
    const uint32_t now = look_at_homes(map, ids, begin, count, homes, look);
    look_further(map, begin - 2 * kBlock, further, homes, look);
    further = look_behind(map, begin - kBlock, left, homes, look);
    left = now;
  }
}

// Returns a function that stores the entry of an id, or a free entry, in search.located. The
// function returns true if the bucket has neither.
inline auto locating(IdMapSearch& search) {
  return [ids = search.ids, located = search.located](int64_t i, IdMapEntry* here) {
    IdMapEntry* const entry = place_in(bucket_of(here), ids[i]);
    located[i & (2 * kBlock - 1)] = entry;
    return entry == nullptr;
  };
}

// Runs the first stage for the block at `begin`.
inline void locate_in_homes(const IdMapView& map, IdMapSearch& search, int64_t begin) {
  search.left = look_at_homes(map, search.ids, begin, search.count, search.homes, locating(search));
}

void start(const IdMapView& map, IdMapSearch& search) {
  approach_first(map, search.ids, search.count, search.homes);
  locate_in_homes(map, search, 0);
}

// The caller processes a block between two calls, while the last prefetches complete.
void locate(const IdMapView& view, IdMapSearch& search, int64_t begin) {
  const IdMapView map = view;
  const uint32_t left = look_behind(map, begin, search.left, search.homes, locating(search));
  locate_in_homes(map, search, begin + kBlock);
  look_further(map, begin, left, search.homes, locating(search));
}

// Prefetches bucket `at` of the next run; after the last run, of the first. One bucket per bucket
// that is split.
inline void prefetch_next(const IdMapView& map, const IdMapSplit& split, uint64_t at) {
  const uint64_t next = (at + kIdMapRun) & map.offsets / sizeof(IdMapBucket);
  __builtin_prefetch(split.from + next, 1, 2);
  __builtin_prefetch(split.one + next, 1, 2);
}

#if defined(__AVX512F__)

// Returns the selected entries of a bucket, packed to the front and without the bucket's bits.
// `entries`: bit 1 << kStride × e for entry e.
inline __m512i chosen(unsigned entries, Words bucket) {
  constexpr uint64_t kAll = ~uint64_t{0}, kMine = ~(uint64_t{kIdMapPassed} << 32);
  const Words kept = bucket & Words{kAll, kMine, kAll, kMine, kAll, kMine, kAll, kMine};
  return _mm512_maskz_compress_epi64(static_cast<__mmask8>(3 * entries), __m512i(kept));
}

void split(const IdMapView& view, IdMapSplit& split, uint64_t begin) {
  const IdMapView map = view;
  const uint64_t offsets = map.offsets & ~(sizeof(IdMapBucket) - 1);
  int64_t size_of_one = 0;
  IdMapEntry* away = split.away;
  for (uint64_t at = begin; at < begin + kIdMapRun; at += 2) {
    prefetch_next(map, split, at);
    prefetch_next(map, split, at + 1);
    // Interleaves the entries of two buckets, and so their bits.
    constexpr unsigned kFirst = 0x55;
    const auto first = Words(load(split.from[at])), second = Words(load(split.from[at + 1]));
    const Words ids = __builtin_shufflevector(first, second, 0, 8, 2, 10, 4, 12, 6, 14);
    const Words rows = __builtin_shufflevector(first, second, 1, 9, 3, 11, 5, 13, 7, 15);
    const Words hashes = hash_words(map.secrets, ids);
    const uint64_t a = at * sizeof(IdMapBucket), b = a + sizeof(IdMapBucket);
    const unsigned used = _mm512_test_epi64_mask(__m512i(rows), _mm512_set1_epi64(0xffffffff));
    const unsigned home = _mm512_mask_cmpeq_epi64_mask(used, __m512i(hashes & offsets),
                                                       __m512i(Words{a, b, a, b, a, b, a, b}));
    const unsigned one =
        _mm512_mask_test_epi64_mask(home, __m512i(hashes), __m512i(Words{} + split.bit));
    const unsigned zero = home ^ one, others = used ^ home;
    _mm512_store_si512(split.zero + at, chosen(zero & kFirst, first));
    _mm512_store_si512(split.zero + at + 1, chosen(zero >> 1 & kFirst, second));
    _mm512_store_si512(split.one + at, chosen(one & kFirst, first));
    _mm512_store_si512(split.one + at + 1, chosen(one >> 1 & kFirst, second));
    size_of_one += __builtin_popcount(one);
    _mm512_storeu_si512(away, chosen(others & kFirst, first));
    away += __builtin_popcount(others & kFirst);
    _mm512_storeu_si512(away, chosen(others >> 1 & kFirst, second));
    away += __builtin_popcount(others >> 1 & kFirst);
  }
  split.size_of_one = size_of_one;
  split.away_count = away - split.away;
}

#else

void split(const IdMapView& view, IdMapSplit& split, uint64_t begin) {
  const IdMapView map = view;
  const uint64_t bit = split.bit, offsets = map.offsets & ~(sizeof(IdMapBucket) - 1);
  int64_t size_of_one = 0;
  IdMapEntry* away = split.away;
  for (uint64_t at = begin; at < begin + kIdMapRun; ++at) {
    prefetch_next(map, split, at);
    const IdMapBucket bucket = split.from[at];
    split.zero[at] = {};
    split.one[at] = {};
    // Every entry is copied. The copy of a free entry is overwritten by the next one, which avoids
    // branches.
    IdMapEntry* zero = split.zero[at].entries;
    IdMapEntry* one = split.one[at].entries;
    for (const IdMapEntry& entry : bucket.entries) {
      const uint64_t hash = hash_id(map.secrets, entry.id);
      const bool used = entry.row_complement != 0;
      const bool home = (hash & offsets) == at * sizeof(IdMapBucket), to_one = (hash & bit) != 0;
      IdMapEntry* to = to_one ? one : zero;
      to = home ? to : away;
      *to = {entry.id, entry.row_complement, entry.mark & ~kIdMapPassed};
      zero += used & home & !to_one;
      one += used & home & to_one;
      away += used & !home;
    }
    size_of_one += one - split.one[at].entries;
  }
  split.size_of_one = size_of_one;
  split.away_count = away - split.away;
}

#endif

}  // namespace

const IdMapKernels kIdMapKernels = {find, start, locate, split};

}  // namespace millrace::MILLRACE_ISA
