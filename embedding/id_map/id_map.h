// A map from ids to row numbers.
#ifndef MILLRACE_EMBEDDING_ID_MAP_ID_MAP_H_
#define MILLRACE_EMBEDDING_ID_MAP_ID_MAP_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/types/span.h"
#include "base/isa/instruction_set.h"
#include "embedding/id_map/id_hash.h"
#include "embedding/id_map/id_map_bucket.h"
#include "embedding/id_map/id_map_kernels.h"
#include "embedding/id_map/segment_memory.h"
#include "embedding/rows/row_index.h"

namespace millrace {

// The place of an id without a row.
inline constexpr uint32_t kNoPlace = 0xffffffff;

// A map from 64-bit ids to row numbers; every int64 is a valid id. Calls take many ids at a time,
// so that their memory accesses overlap; longer spans are faster.
//
// A directory, indexed by the upper bits of the hash, points to segments of at most 512 KiB. A
// segment is a hash table with linear probing over buckets of four entries, one cache line each. A
// segment splits at 70 % load, so growth moves 23,000 entries at a time for any size of the map.
// Nearly empty segments merge. Memory: 23 to 46 bytes per row.
//
// The order of entries depends on the hash, whose seed differs between maps, and must not affect
// results. Results of the calls below do not depend on the order.
//
// Const functions are thread-safe while no other function is called. Readers that run concurrently
// with a writer need a lock for each call.
class IdMap {
 public:
  // Creates an empty map with a seed from the system, so that colliding ids cannot be built.
  // `pool`: the source of segments of a large map, which may be shared; null: a private pool. A
  // pool with a background thread saves insertions the first touch of memory.
  explicit IdMap(InstructionSet set = best_instruction_set(),
                 std::shared_ptr<BlockPool> pool = nullptr);
  explicit IdMap(uint64_t seed, InstructionSet set = best_instruction_set(),
                 std::shared_ptr<BlockPool> pool = nullptr);
  IdMap(const IdMap&) = delete;
  IdMap& operator=(const IdMap&) = delete;

  // Sets rows[i] to the row of ids[i], or kNoRow. Ids may repeat. REQUIRES: sizes are equal.
  void find(absl::Span<const int64_t> ids, absl::Span<RowIndex> rows) const;

  // Returns the row of a new id. kNoRow refuses the id: nothing is inserted, and the function is
  // called again if the id repeats. Must not use the map.
  using MakeRow = absl::FunctionRef<RowIndex(int64_t)>;

  // Called about every 32 ids with the number of ids that have places and with the distinct rows so
  // far. The caller can work on these rows while the map prefetches the next ids. Must not use the
  // map.
  using EachBlock = absl::FunctionRef<void(int64_t, absl::Span<const RowIndex>)>;

  // Finds or inserts ids, and numbers the distinct rows of a step. Sets places[i] to the index of
  // ids[i]'s row in `distinct`; kNoPlace if make_row refused the id. Appends new rows to
  // `distinct`, in the order of their first occurrence. Calls make_row in the order of `ids`, once
  // for a repeated id unless it refuses. Calls of the same step pass the same `distinct`. A new
  // step passes an empty one; the map needs no reset. REQUIRES: places.size() == ids.size();
  // `distinct` has less than 2^31 rows, each once.
  void find_or_insert_distinct(
      absl::Span<const int64_t> ids, MakeRow make_row, std::vector<RowIndex>& distinct,
      absl::Span<uint32_t> places,
      EachBlock each_block = [](int64_t, absl::Span<const RowIndex>) {});

  // Finds or inserts ids without numbers. Sets rows[i] to the row of ids[i], or kNoRow if make_row
  // refused the id.
  void find_or_insert(absl::Span<const int64_t> ids, absl::Span<RowIndex> rows, MakeRow make_row);

  // Allocates memory for `ids` ids in an empty map, so that their insertion causes no growth. Does
  // nothing if the map has ids or if the ids fit already.
  void reserve(int64_t ids);

  // Erases ids; ignores unknown ids. Returns memory if little of it is in use.
  void erase(absl::Span<const int64_t> ids);

  // Calls visit(id, row) once for each entry, in no particular order. `visit` must not change the
  // map.
  void for_each(absl::FunctionRef<void(int64_t, RowIndex)> visit) const;

  int64_t size() const { return size_; }
  // Returns the bytes of the map's memory.
  int64_t bytes() const;
  // Returns the share of entries in use.
  double load() const;
  // Returns the maximum number of buckets that find() reads for an id of the map. Reads every
  // entry.
  int64_t longest_probe() const;
  // Returns true if every entry is at its place (see id_map_bucket.h) and counted. Reads every
  // entry; for tests.
  bool is_consistent() const;
  // Removes all entries and returns memory.
  void clear();
  // Exchanges the entries and hashes of two maps.
  void swap(IdMap& other);

 private:
  using Entry = IdMapEntry;
  using Bucket = IdMapBucket;
  static constexpr int kEntries = kIdMapEntries;
  static constexpr uint32_t kPassed = kIdMapPassed;

  static RowIndex row_of(const Entry& entry) { return ~entry.row_complement; }
  // Returns true if ids of any kind are past the bucket.
  static bool passed(const Bucket& bucket);
  // Assigns an entry, except the bucket's bit.
  static void assign(Entry& to, const Entry& from) {
    to = {from.id, from.row_complement, (to.mark & kPassed) | (from.mark & ~kPassed)};
  }
  // The memory of ids whose hash begins with the `depth` bits of `prefix`.
  struct Segment {
    Bucket* buckets;
    uint64_t prefix;
    int depth;
  };
  struct Numbering;
  // Releases buckets that did not become a segment's.
  struct GiveBack {
    SegmentMemory* memory;
    int64_t bytes;
    void operator()(Bucket* buckets) const { memory->release(buckets, bytes); }
  };
  using OwnedBuckets = std::unique_ptr<Bucket[], GiveBack>;
  static constexpr int64_t kBlock = 1024;  // ids erased per iteration

  IdMapView view() const {
    return {directory_.data(), shift_, (mask_ + 1) * sizeof(Bucket) - 1, hash_.secrets()};
  }
  Bucket* segment_of(uint64_t hash) const { return directory_[hash >> shift_]; }
  int64_t bucket_bytes() const { return static_cast<int64_t>((mask_ + 1) * sizeof(Bucket)); }
  int64_t entries_per_segment() const { return static_cast<int64_t>(mask_ + 1) * kEntries; }

  // Calls use(i, entry) in order, with nullptr if make_row refused, and use.end_block(end) after
  // each block. Returns `use`; passing by value keeps its members in registers.
  template <typename Use>
  Use find_or_insert_each(absl::Span<const int64_t> ids, MakeRow make_row, Use use);
  // Inserts an id that is not in the map. `free`: its place; nullptr if unknown. `home`: see
  // home_in(). Sets `moved` if other entries moved. Returns its entry; nullptr if make_row refuses.
  Entry* insert_at(Entry* free, Entry* home, int64_t id, MakeRow make_row, bool& moved);
  // Searches the id again, and inserts it if it is not in the map.
  Entry* find_or_insert_anew(int64_t id, MakeRow make_row, bool& moved);
  // Returns the entry of an id; nullptr if unknown.
  static Entry* find_entry(const IdMapView& map, int64_t id, uint64_t hash);
  // Counts one more id and makes room. Returns true if entries moved.
  bool count_in(uint64_t hash);

  void remove(Bucket* buckets, Entry* entry);
  // Returns an entry past bucket `at` whose home is `at` or a bucket before it; nullptr if there is
  // none. Sets the bits of bucket `at` to the kinds of all other such entries.
  Entry* find_passed(Bucket* buckets, uint64_t at);

  void make_room(uint64_t hash);
  // Merges or halves segments with few ids. Returns true if entries moved.
  bool shrink(uint64_t hash);
  void split(uint32_t segment);
  void merge(uint32_t first, uint32_t second);
  void resize_only_segment(uint64_t buckets);
  void resize_directory(int depth);
  void enter(uint32_t segment);  // in the directory
  // Returns buckets with free entries, or uninitialized.
  OwnedBuckets new_buckets(uint64_t count, bool free = true);
  void set_segment_buckets(uint64_t buckets);
  // Releases all memory and begins with one small segment. May throw; then nothing has changed.
  void start();

  const IdMapKernels& kernels_;
  IdHash hash_;
  SegmentMemory memory_;
  std::vector<Bucket*> directory_;  // [2^(64 - shift_)], at least two
  std::vector<uint32_t> owners_;    // index into segments_, parallel to directory_
  std::vector<Segment> segments_;   // a single segment may be smaller than full
  std::vector<int32_t> sizes_;      // ids, parallel to segments_ but compact
  int shift_ = 63;
  uint64_t mask_ = 0;       // buckets of a segment - 1
  int32_t split_size_ = 0;  // number of ids at which a segment splits
  int64_t size_ = 0;
};

}  // namespace millrace

#endif  // MILLRACE_EMBEDDING_ID_MAP_ID_MAP_H_
