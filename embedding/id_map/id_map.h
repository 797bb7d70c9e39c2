// From ids to row numbers.
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

// The place of an id that got no row.
inline constexpr uint32_t kNoPlace = 0xffffffff;

// A map from 64-bit ids to row numbers; every int64 is a legal id. Calls take many ids at once, so
// that their memory accesses overlap: the more, the better.
//
// A directory, indexed by the upper bits of the hash, points to segments of up to 512 KiB, hash
// tables of their own with linear probing over buckets of four entries, a cache line each. At 70 %
// load a segment alone splits, so growth moves 23,000 entries at a time whatever the size; segments
// that become nearly empty merge. 23 to 46 bytes a row.
//
// The order of entries depends on the hash, whose seed differs from map to map, and must not reach
// any result; results of the calls below do not depend on it.
//
// Const methods may be called from many threads at once as long as nobody calls another method;
// readers beside a writer need a lock, held for each call.
class IdMap {
 public:
  // A seed from the system: nobody can build ids that collide. `pool`: where the segments of a
  // large map come from; may be shared with others, by default one of its own. With a background
  // thread it spares those who insert the first touch of memory.
  explicit IdMap(InstructionSet set = best_instruction_set(),
                 std::shared_ptr<BlockPool> pool = nullptr);
  explicit IdMap(uint64_t seed, InstructionSet set = best_instruction_set(),
                 std::shared_ptr<BlockPool> pool = nullptr);
  IdMap(const IdMap&) = delete;
  IdMap& operator=(const IdMap&) = delete;

  // rows[i] becomes the row of ids[i], or kNoRow. Ids may repeat. REQUIRES: sizes are equal.
  void find(absl::Span<const int64_t> ids, absl::Span<RowIndex> rows) const;

  // Makes the row of an unknown id, or returns kNoRow: then nothing is inserted, and the id, should
  // it come again, asked for again. Must not use the map.
  using MakeRow = absl::FunctionRef<RowIndex(int64_t)>;

  // Called with how many ids have their places and which rows are distinct so far, some 32 ids
  // after the call before, so that a caller works on these while the map has others fetched. Must
  // not use the map.
  using EachBlock = absl::FunctionRef<void(int64_t, absl::Span<const RowIndex>)>;

  // Finds rows or makes them, and numbers the distinct ones of a step. places[i] becomes the index
  // of ids[i]'s row in `distinct`, to which rows not yet in it are appended in the order of their
  // first occurrence; kNoPlace if make_row refused the id. make_row is called in the order of
  // `ids`, once for an id that repeats (unless it refuses). Calls of the same step go on with the
  // same `distinct`; a new step begins with an empty one, and needs no clearing here.
  // REQUIRES: places.size() == ids.size(); `distinct` holds less than 2^31 rows, each once.
  void find_or_insert_distinct(
      absl::Span<const int64_t> ids, MakeRow make_row, std::vector<RowIndex>& distinct,
      absl::Span<uint32_t> places,
      EachBlock each_block = [](int64_t, absl::Span<const RowIndex>) {});

  // The same without numbers: rows[i] becomes the row of ids[i], or kNoRow if it was refused.
  void find_or_insert(absl::Span<const int64_t> ids, absl::Span<RowIndex> rows, MakeRow make_row);

  // Makes room in an empty map for so many ids; they then come without growing. Does nothing to one
  // with ids, or for ids that fit already.
  void reserve(int64_t ids);

  // Ids that are not there are ignored. Memory is given back when little of it is in use.
  void erase(absl::Span<const int64_t> ids);

  // Calls visit(id, row) once for each entry, in no particular order. `visit` must not change the
  // map.
  void for_each(absl::FunctionRef<void(int64_t, RowIndex)> visit) const;

  int64_t size() const { return size_; }
  // Memory of the map.
  int64_t bytes() const;
  // Entries in use, as a share of those there is memory for.
  double load() const;
  // The most buckets that a find of an id reads if that id is here. Looks at every entry.
  int64_t longest_probe() const;
  // Whether each entry is where id_map_bucket.h says, and counted. Looks at every entry; for tests.
  bool is_consistent() const;
  // Removes everything and gives memory back.
  void clear();
  // Exchanges all entries, and hashes with them.
  void swap(IdMap& other);

 private:
  using Entry = IdMapEntry;
  using Bucket = IdMapBucket;
  static constexpr int kEntries = kIdMapEntries;
  static constexpr uint32_t kPassed = kIdMapPassed;

  static RowIndex row_of(const Entry& entry) { return ~entry.row_complement; }
  // Ids of any kind.
  static bool passed(const Bucket& bucket);
  // Keeps the bit that is the bucket's.
  static void assign(Entry& to, const Entry& from) {
    to = {from.id, from.row_complement, (to.mark & kPassed) | (from.mark & ~kPassed)};
  }
  // The ids whose hash begins with the `depth` bits of `prefix`.
  struct Segment {
    Bucket* buckets;
    uint64_t prefix;
    int depth;
  };
  struct Numbering;
  // Given back unless they become a segment's.
  struct GiveBack {
    SegmentMemory* memory;
    int64_t bytes;
    void operator()(Bucket* buckets) const { memory->release(buckets, bytes); }
  };
  using OwnedBuckets = std::unique_ptr<Bucket[], GiveBack>;
  static constexpr int64_t kBlock = 1024;  // ids that are erased together

  IdMapView view() const {
    return {directory_.data(), shift_, (mask_ + 1) * sizeof(Bucket) - 1, hash_.secrets()};
  }
  Bucket* segment_of(uint64_t hash) const { return directory_[hash >> shift_]; }
  int64_t bucket_bytes() const { return static_cast<int64_t>((mask_ + 1) * sizeof(Bucket)); }
  int64_t entries_per_segment() const { return static_cast<int64_t>(mask_ + 1) * kEntries; }

  // Calls use(i, entry) in order; nullptr where make_row refused; and use.end_block(end) now and
  // then. Returns `use`, whose members stay in registers that way.
  template <typename Use>
  Use find_or_insert_each(absl::Span<const int64_t> ids, MakeRow make_row, Use use);
  // Inserts an id that is not there. `free`: its place, or nullptr, if that is not known. `home`:
  // as home_in says. Sets `moved` if other entries moved. Returns: its entry, or nullptr if
  // make_row refuses.
  Entry* insert_at(Entry* free, Entry* home, int64_t id, MakeRow make_row, bool& moved);
  // The same for one that may be there: it is looked for once more.
  Entry* find_or_insert_anew(int64_t id, MakeRow make_row, bool& moved);
  // Or nullptr.
  static Entry* find_entry(const IdMapView& map, int64_t id, uint64_t hash);
  // Counts one more id, and makes room for it. Returns: whether entries moved.
  bool count_in(uint64_t hash);

  void remove(Bucket* buckets, Entry* entry);
  // An entry behind bucket `at` whose home is not behind it, or nullptr. Sets the bucket's bits to
  // the kinds of all others of these.
  Entry* find_passed(Bucket* buckets, uint64_t at);

  void make_room(uint64_t hash);
  // Returns: whether entries moved.
  bool shrink(uint64_t hash);
  void split(uint32_t segment);
  void merge(uint32_t first, uint32_t second);
  void resize_only_segment(uint64_t buckets);
  void resize_directory(int depth);
  void enter(uint32_t segment);  // into the directory
  // Free ones, or whatever stands there.
  OwnedBuckets new_buckets(uint64_t count, bool free = true);
  void set_segment_buckets(uint64_t buckets);
  // Lets go of everything and begins with one small segment. Or throws, and nothing changed.
  void start();

  const IdMapKernels& kernels_;
  IdHash hash_;
  SegmentMemory memory_;
  std::vector<Bucket*> directory_;  // 2^(64 - shift_) of them, at least two
  std::vector<uint32_t> owners_;    // beside directory_: index into segments_
  std::vector<Segment> segments_;   // while there is only one, it may be smaller than full
  std::vector<int32_t> sizes_;      // beside segments_, but close together: ids
  int shift_ = 63;
  uint64_t mask_ = 0;       // buckets of a segment, less one
  int32_t split_size_ = 0;  // ids of a segment with which it splits
  int64_t size_ = 0;
};

}  // namespace millrace

#endif  // MILLRACE_EMBEDDING_ID_MAP_ID_MAP_H_
