// From the rows of a list of ids to what the model sees.
#ifndef MILLRACE_EMBEDDING_POOLING_H_
#define MILLRACE_EMBEDDING_POOLING_H_

#include <cstdint>

#include "absl/types/span.h"
#include "proto/config.pb.h"

namespace millrace {

// The lists of one feature in one micro-batch, borrowed.
struct IdLists {
  absl::Span<const int64_t> ids;
  // [batch + 1], not decreasing; list e is ids[offsets[e] - offsets[0]] up to, not including,
  // ids[offsets[e + 1] - offsets[0]].
  absl::Span<const int64_t> offsets;
  absl::Span<const float> weights;  // one for each id, or empty: all 1
  Pooling pooling = SUM;

  int64_t batch() const { return static_cast<int64_t>(offsets.size()) - 1; }
  int64_t begin(int64_t list) const { return offsets[list] - offsets[0]; }
  int64_t end(int64_t list) const { return offsets[list + 1] - offsets[0]; }
  // What the row at place `at` of list `list` is multiplied by: its weight, for MEAN divided by the
  // length of the list; 1 for NONE.
  double coefficient(int64_t list, int64_t at) const {
    if (pooling == NONE) return 1;
    const double weight = weights.empty() ? 1 : weights[at];
    return pooling == MEAN ? weight / static_cast<double>(end(list) - begin(list)) : weight;
  }
};

// Pools rows: rows[i] are the `dim` columns of ids[i]. float32 arithmetic in the order of the lists.
//   SUM:  output row e = sum of weight × row over list e; zeros for an empty list
//   MEAN: the same divided by the number of ids in the list, whatever their weights
//   NONE: output row i = rows[i]; weights are not used
// Output rows begin `stride` numbers after one another.
void pool(const IdLists& lists, absl::Span<const float* const> rows, int64_t dim, float* output,
          int64_t stride);

}  // namespace millrace

#endif  // MILLRACE_EMBEDDING_POOLING_H_
