// From ids to row numbers.
#ifndef MILLRACE_EMBEDDING_ID_MAP_H_
#define MILLRACE_EMBEDDING_ID_MAP_H_

#include <cstdint>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/types/span.h"
#include "embedding/row_index.h"

namespace millrace {

// A map from 64-bit ids to row numbers; every int64 is a legal id. Calls take many ids at once, so
// that their memory accesses overlap. Open addressing, linear probing, at most 70 % full; the
// order of entries depends on the hash and must not reach any result.
//
// find and for_each may be called from many threads at once as long as nobody changes the map.
class IdMap {
 public:
  IdMap();

  // rows[i] becomes the row of ids[i], or kNoRow. Ids may repeat.
  // REQUIRES: rows.size() == ids.size().
  void find(absl::Span<const int64_t> ids, absl::Span<RowIndex> rows) const;

  // The same, but an unknown id is inserted: `make_row` is called with it and returns its row.
  // Calls come in the order of `ids`, once for an id that repeats.
  // REQUIRES: make_row does not return kNoRow nor use this map.
  void find_or_insert(absl::Span<const int64_t> ids, absl::Span<RowIndex> rows,
                      absl::FunctionRef<RowIndex(int64_t)> make_row);

  // Ids that are not there are ignored.
  void erase(absl::Span<const int64_t> ids);

  // Calls visit(id, row) once for each entry, in no particular order.
  void for_each(absl::FunctionRef<void(int64_t, RowIndex)> visit) const;

  int64_t size() const { return size_; }
  // Memory of the entries.
  int64_t bytes() const { return static_cast<int64_t>(entries_.size() * sizeof(Entry)); }
  // Removes everything and gives memory back.
  void clear();

 private:
  struct Entry {
    int64_t id = 0;
    RowIndex row = kNoRow;  // kNoRow: the entry is free
  };

  uint64_t mask() const { return entries_.size() - 1; }
  void grow();
  void erase_one(int64_t id);

  std::vector<Entry> entries_;  // a power of two of them
  int64_t size_ = 0;
};

}  // namespace millrace

#endif  // MILLRACE_EMBEDDING_ID_MAP_H_
