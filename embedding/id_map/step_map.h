// Numbers the distinct ids of a step.
#ifndef MILLRACE_EMBEDDING_ID_MAP_STEP_MAP_H_
#define MILLRACE_EMBEDDING_ID_MAP_STEP_MAP_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "embedding/id_map/id_hash.h"

namespace millrace {

// A map from 64-bit ids to the order in which they came since the last clear(). Open addressing
// with linear probing, at most half full, 16 bytes an entry; entries carry the stamp of their step,
// so that clear() costs nothing, and memory is kept for the largest step. An IdMap would hold the
// ids of all steps. No result depends on the seed of the hash.
//
// Const methods may be called from many threads at once while nobody calls another method.
class StepMap {
 public:
  // A seed from the system: nobody can build ids that collide.
  StepMap();
  explicit StepMap(uint64_t seed);

  // Forgets all ids.
  void clear();
  // Sets places[i] to the index of ids[i] in `distinct`; ids that were not there are appended, in
  // the order of their first occurrence. REQUIRES: places.size() == ids.size(); `distinct` is empty
  // after clear(), and else what the call before left.
  void find_or_add(absl::Span<const int64_t> ids, std::vector<int64_t>& distinct,
                   absl::Span<uint32_t> places);
  // Sets places[i] as find_or_add(), or to kNoPlace for an id that is not there. Returns true if
  // all are. REQUIRES: places.size() == ids.size().
  bool find(absl::Span<const int64_t> ids, absl::Span<uint32_t> places) const;

  int64_t size() const { return size_; }
  int64_t bytes() const { return static_cast<int64_t>(entries_.capacity() * sizeof(Entry)); }

 private:
  struct Entry {
    int64_t id = 0;
    uint32_t stamp = 0;  // other than stamp_: free
    uint32_t place = 0;
  };
  static constexpr size_t kBlock = 64;  // ids whose entries are fetched together

  size_t home(int64_t id) const { return hash_(id) >> shift_; }
  // The entry of the id, or the free one where it belongs. `at`: its home.
  size_t locate(int64_t id, size_t at) const {
    const size_t mask = entries_.size() - 1;
    while (entries_[at].stamp == stamp_ && entries_[at].id != id) at = (at + 1) & mask;
    return at;
  }
  // Makes room for `more` ids.
  void reserve(size_t more);

  IdHash hash_;
  std::vector<Entry> entries_;  // a power of two
  int shift_ = 0;               // of hashes, to the index of an entry
  uint32_t stamp_ = 1;
  int64_t size_ = 0;
};

}  // namespace millrace

#endif  // MILLRACE_EMBEDDING_ID_MAP_STEP_MAP_H_
