// Compiled once per instruction set: see //bazel:isa_kernels.bzl for what may stand here.
#include "embedding/id_map_kernels.h"

#include <immintrin.h>

#include <cstdint>

#include "base/isa_namespace.h"
#include "embedding/id_hash_secrets.h"
#include "embedding/id_map_bucket.h"

namespace millrace::MILLRACE_ISA {
namespace {

// There are no branches on what a comparison gives, as that cannot be predicted. Prefetches come
// one by one, each beside a comparison, since of many at once the processor drops some. They come
// twice: the second level of the caches takes more of them at a time than the first, but what comes
// from there should be in the first when it is used, or a busy neighbour makes it late.

constexpr int64_t kNear = 8;  // ids ahead
constexpr int64_t kAhead = kIdMapAhead;
constexpr int64_t kBlock = kIdMapBlock;

// Of a bucket's entries, those that have the id and those that are in use: bit kStride × e. The
// first may be free, if the id is 0.
struct Matches {
  unsigned same, used;
};

#if defined(__AVX512F__)

constexpr int kStride = 2;

inline __m512i load(const IdMapBucket& bucket) { return _mm512_load_si512(&bucket); }

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
  // Into ordinary registers: GCC would go on with masks, and move them there and back.
  asm("" : "+r"(same), "+r"(used));
  return {same, used >> 1};
}

#elif defined(__AVX2__)

constexpr int kStride = 1;

// Entries in the order 0, 2, 1, 3.
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

// The upper bits of four columns, in the order of the entries.
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

// Where an id is, or would go.
struct Place {
  IdMapEntry* entry;
  bool found;
};

// The entry of an id in its home or, where `free` says so, the first free one; else `none`.
template <bool free>
inline Place place_in(IdMapBucket* bucket, int64_t id, IdMapEntry* none) {
  constexpr unsigned kBits = kStride * kIdMapEntries;
  constexpr unsigned kAll = kStride == 2 ? 0x55 : 0xf;  // all entries
  const Matches all = matches(*bucket, id);
  // Found, or else free, or else neither.
  const unsigned bits =
      (all.same & all.used) | (free ? (all.used ^ kAll) << kBits : 0) | 1u << 2 * kBits;
  const auto bit = static_cast<unsigned>(__builtin_ctz(bits));
  auto entry = reinterpret_cast<IdMapEntry*>(reinterpret_cast<char*>(bucket) +
                                             bit % kBits * (sizeof(IdMapEntry) / kStride));
  // A conditional move, not the branch that GCC would make of it.
  asm("cmp %2, %1\n\tcmovae %3, %0" : "+r"(entry) : "r"(bit), "i"(2 * kBits), "r"(none) : "cc");
  return {entry, bit < kBits};
}

inline bool passed(const IdMapEntry* home) { return home->mark >> 31; }

struct Given {
  const uint64_t* hashes;
  uint64_t operator()(int64_t i) const { return hashes[i]; }
};
struct Computed {
  IdHashSecrets secrets;
  const int64_t* ids;
  uint64_t operator()(int64_t i) const { return hash_id(secrets, ids[i]); }
};

// To the second level.
inline void prefetch(const IdMapEntry* entry) { __builtin_prefetch(entry, 0, 2); }

// Approaches ids from number `begin` on, kAhead at most.
template <typename Hash>
inline void approach_first(const IdMapView& map, Hash hash, int64_t begin, int64_t end,
                           IdMapEntry** homes) {
  if (end > begin + kAhead) end = begin + kAhead;
  for (int64_t i = begin; i < end; ++i) {
    IdMapEntry* const home = home_of(map, hash(i));
    homes[i & (kAhead - 1)] = home;
    prefetch(home);
  }
}

// Calls look(i, bucket) with the homes of ids number `begin` to end - 1, kAhead at most, and lists
// in `rest` those for which it returns that they are not there, if they may be behind. Approaches
// ids that are kAhead further, if less than `count`: their homes take the places of those seen.
template <typename Hash, typename Look>
inline void look_at_homes(const IdMapView& map, int64_t begin, int64_t end, int64_t count,
                          Hash hash, IdMapEntry** homes, Look look, IdMapRest& rest) {
  // Apart from the rest: there are not registers enough for both. Where there are no more ids, any
  // bucket.
  IdMapEntry* further[kAhead];
  const int64_t count_further =
      count - kAhead - begin < end - begin ? count - kAhead - begin : end - begin;
  int64_t f = 0;
  for (; f < count_further; ++f) further[f] = home_of(map, hash(begin + kAhead + f));
  for (; f < end - begin; ++f) further[f] = homes[begin & (kAhead - 1)];
  int64_t left = 0;
  for (int64_t i = begin; i < end; ++i) {
    IdMapEntry* const home = homes[i & (kAhead - 1)];
    __builtin_prefetch(homes[(i + kNear) & (kAhead - 1)]);
    homes[i & (kAhead - 1)] = further[i - begin];
    prefetch(further[i - begin]);
    const bool again = look(i, bucket_of(home)) & passed(home);
    rest.numbers[left] = i;
    rest.homes[left] = home;
    left += again;
  }
  rest.count = left;
  for (int64_t r = 0; r < left; ++r) prefetch(rest.homes[r] + kIdMapEntries);
}

// The same with the bucket behind, and the next one, until none are left.
template <typename Look>
inline void look_behind(const IdMapView& map, Look look, IdMapRest& rest) {
  for (uint64_t distance = 1; rest.count > 0; ++distance) {
    const int64_t count = rest.count;
    rest.count = 0;
    for (int64_t r = 0; r < count; ++r) {
      const int64_t i = rest.numbers[r];
      IdMapEntry* const home = rest.homes[r];
      IdMapEntry* const here = behind(map, home, distance);
      const bool again = look(i, bucket_of(here)) & passed(here);
      rest.numbers[rest.count] = i;
      rest.homes[rest.count] = home;
      rest.count += again;
    }
  }
}

template <typename Hash>
void find_with(const IdMapView& view, const int64_t* ids, Hash hash, int64_t count,
               RowIndex* rows) {
  const IdMapView map = view;
  const auto look = [ids, rows](int64_t i, const IdMapBucket* bucket) {
    const RowIndex complement = row_complement(*bucket, ids[i]);
    rows[i] = ~complement;
    return complement == 0;
  };
  IdMapEntry* homes[kAhead] = {};
  approach_first(map, hash, 0, count, homes);
  // What is behind has time to come while others are looked at.
  IdMapRest rests[2];
  rests[1].count = 0;
  int turn = 0;
  for (int64_t begin = 0; begin < count; begin += kAhead, turn ^= 1) {
    const int64_t end = begin + kAhead < count ? begin + kAhead : count;
    look_at_homes(map, begin, end, count, hash, homes, look, rests[turn]);
    look_behind(map, look, rests[turn ^ 1]);
  }
  look_behind(map, look, rests[turn ^ 1]);
}

void find(const IdMapView& map, const int64_t* ids, const uint64_t* hashes, int64_t count,
          RowIndex* rows) {
  if (hashes == nullptr) return find_with(map, ids, Computed{map.secrets, ids}, count, rows);
  find_with(map, ids, Given{hashes}, count, rows);
}

// Looks at the homes of the block that begins there. What is behind has time to come until the next
// one.
inline void look_at_block(const IdMapView& map, IdMapSearch& search, int64_t begin) {
  const int64_t* const ids = search.ids;
  IdMapEntry* const none = search.none;
  IdMapEntry** const located = search.located;
  const auto look = [=](int64_t i, IdMapBucket* bucket) {
    const Place place = place_in<true>(bucket, ids[i], none);
    located[i & (2 * kBlock - 1)] = place.entry;
    // A full bucket: a new id goes behind, perhaps further. Not predicted, but rare where most ids
    // are known.
    if (__builtin_expect(place.entry == none, 0)) {
      __builtin_prefetch(bucket + 1, 1);
      __builtin_prefetch(bucket + 2, 1);
    }
    return !place.found;
  };
  const int64_t end = begin + kBlock < search.count ? begin + kBlock : search.count;
  look_at_homes(map, begin, end, search.count, Computed{map.secrets, ids}, search.homes, look,
                search.rests[search.turn]);
}

void start(const IdMapView& map, IdMapSearch& search, int64_t begin) {
  search.turn = 0;
  approach_first(map, Computed{map.secrets, search.ids}, begin, search.count, search.homes);
  look_at_block(map, search, begin);
}

void locate(const IdMapView& view, IdMapSearch& search, int64_t begin) {
  const IdMapView map = view;
  IdMapRest& rest = search.rests[search.turn];
  search.turn ^= 1;
  look_at_block(map, search, begin + kBlock);
  const auto look = [&search](int64_t i, IdMapBucket* bucket) {
    const Place place = place_in<false>(bucket, search.ids[i], search.none);
    search.located[i & (2 * kBlock - 1)] = place.entry;
    return !place.found;
  };
  look_behind(map, look, rest);
}

}  // namespace

const IdMapKernels kIdMapKernels = {find, start, locate};

}  // namespace millrace::MILLRACE_ISA
