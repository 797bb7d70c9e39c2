// A map that numbers the distinct ids of a step.
#ifndef MILLRACE_EMBEDDING_ID_MAP_STEP_MAP_H_
#define MILLRACE_EMBEDDING_ID_MAP_STEP_MAP_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "embedding/id_map/id_hash.h"

namespace millrace {

// A map from 64-bit ids to their order of first occurrence since the last clear(). Open addressing
// with linear probing, at most half full, 16 bytes per entry. Entries have the stamp of their step,
// so clear() takes constant time. Memory is kept for the largest step. An IdMap in its place would
// keep the ids of all steps. Results do not depend on the seed of the hash.
//
// Const functions are thread-safe while no other function is called.
class StepMap {
 public:
  // Creates an empty map with a seed from the system, so that colliding ids cannot be built.
  StepMap();
  explicit StepMap(uint64_t seed);

  // Forgets all ids.
  void clear();
  // Sets places[i] to the index of ids[i] in `distinct`. Appends unknown ids, in the order of their
  // first occurrence. REQUIRES: places.size() == ids.size(); `distinct` is empty after clear(),
  // otherwise unchanged since the previous call.
  void find_or_add(absl::Span<const int64_t> ids, std::vector<int64_t>& distinct,
                   absl::Span<uint32_t> places);
  // Sets places[i] as find_or_add(), or to kNoPlace for an unknown id. Returns true if all ids are
  // known. REQUIRES: places.size() == ids.size().
  bool find(absl::Span<const int64_t> ids, absl::Span<uint32_t> places) const;

  int64_t size() const { return size_; }
  int64_t bytes() const { return static_cast<int64_t>(entries_.capacity() * sizeof(Entry)); }

 private:
  struct Entry {
    int64_t id = 0;
    uint32_t stamp = 0;  // free unless equal to stamp_
    uint32_t place = 0;
  };
  static constexpr size_t kBlock = 64;  // ids prefetched together

  size_t home(int64_t id) const { return hash_(id) >> shift_; }
  // Returns the index of the id's entry, or of the free entry for its insertion. `at`: its home.
  size_t locate(int64_t id, size_t at) const {
    const size_t mask = entries_.size() - 1;
    while (entries_[at].stamp == stamp_ && entries_[at].id != id) at = (at + 1) & mask;
    return at;
  }
  // Grows the table if necessary for `more` ids.
  void reserve(size_t more);

  IdHash hash_;
  std::vector<Entry> entries_;  // size is a power of two
  int shift_ = 0;               // from a hash to the index of an entry
  uint32_t stamp_ = 1;
  int64_t size_ = 0;
};

}  // namespace millrace

#endif  // MILLRACE_EMBEDDING_ID_MAP_STEP_MAP_H_
