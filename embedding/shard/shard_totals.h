// Sums over ranks of a step, before its update.
#ifndef MILLRACE_EMBEDDING_SHARD_SHARD_TOTALS_H_
#define MILLRACE_EMBEDDING_SHARD_SHARD_TOTALS_H_

#include <cstddef>
#include <cstdint>
#include <vector>

namespace millrace {

// The share of one rank in a step of the tables of a collection, or the sum of all shares. Shares
// are added in the order of ranks.
struct ShardTotals {
  // The sum of squares of the gradients of all rows, each row at its owner. 0 if not requested, or
  // if a gradient of this share is not finite.
  double squared_norm = 0;
  // For each table of the collection: the number of ranks with a gradient, or a sum of gradients,
  // that is not finite.
  std::vector<int64_t> not_finite;
  // For each table: the number of rows that this step adds. 0 for frozen tables.
  std::vector<int64_t> new_rows;

  // Returns true if all gradients and their sums are finite.
  bool finite() const {
    for (const int64_t ranks : not_finite) {
      if (ranks > 0) return false;
    }
    return true;
  }
  // Adds the share of the next rank. REQUIRES: both have the same number of tables, or this share
  // has no tables.
  ShardTotals& operator+=(const ShardTotals& other) {
    not_finite.resize(other.not_finite.size());
    new_rows.resize(other.new_rows.size());
    squared_norm += other.squared_norm;
    for (size_t t = 0; t < not_finite.size(); ++t) not_finite[t] += other.not_finite[t];
    for (size_t t = 0; t < new_rows.size(); ++t) new_rows[t] += other.new_rows[t];
    return *this;
  }
};

}  // namespace millrace

#endif  // MILLRACE_EMBEDDING_SHARD_SHARD_TOTALS_H_
