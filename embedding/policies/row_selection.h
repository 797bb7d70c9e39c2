// The selection of the least valuable rows of a sharded table.
#ifndef MILLRACE_EMBEDDING_POLICIES_ROW_SELECTION_H_
#define MILLRACE_EMBEDDING_POLICIES_ROW_SELECTION_H_

#include <array>
#include <cstdint>

#include "absl/types/span.h"
#include "embedding/policies/eviction.h"

namespace millrace {

// Selects the rows that LeastRows would select if one rank had all rows, without moving rows. Finds
// the key of the last selected row, 8 bits at a time from the top, by counts summed over ranks. All
// ranks must make the same calls with the same sums:
//
//   RowSelection selection(order, count);
//   while (!selection.done()) {
//     RowSelection::Counts counts = {};
//     for (each row of this rank) selection.count(key, counts);
//     ... sum `counts` over ranks ...
//     selection.narrow(counts);
//   }
//   for (each row of this rank) if (selection.selects(key)) ... remove it ...
//
// There are at most 16 rounds.
class RowSelection {
 public:
  // The number of undecided rows by the value of the next 8 bits of their key.
  using Counts = std::array<int64_t, 256>;

  // Selects `count` rows. REQUIRES: 1 <= count <= rows of all ranks.
  RowSelection(EvictionOrder order, int64_t count) : order_(order), left_(count) {}

  EvictionOrder order() const { return order_; }
  // Returns true if selects() can be called.
  bool done() const { return done_; }
  // Adds a row to the counts. REQUIRES: !done().
  void count(const RowKey& key, Counts& counts) const;
  // Narrows the selection by the counts of all ranks. REQUIRES: the counts include all rows that
  // remain to be selected.
  void narrow(const Counts& sums);
  // Returns true if the row is selected. REQUIRES: done().
  bool selects(const RowKey& key) const;

 private:
  // Returns the first `bits_` bits of a key.
  unsigned __int128 prefix(const RowKey& key) const;

  const EvictionOrder order_;
  int64_t left_;  // rows to select among keys with the prefix bound_
  int bits_ = 0;
  unsigned __int128 bound_ = 0;  // the first bits of the largest selected key
  bool done_ = false;
};

}  // namespace millrace

#endif  // MILLRACE_EMBEDDING_POLICIES_ROW_SELECTION_H_
