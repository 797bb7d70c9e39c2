// From the rows of a list of ids to what the model sees.
#ifndef MILLRACE_EMBEDDING_TABLE_POOLING_H_
#define MILLRACE_EMBEDDING_TABLE_POOLING_H_

#include <cstdint>
#include <optional>

#include "absl/types/span.h"
#include "proto/config.pb.h"

namespace millrace {

// The lists of one feature in one micro-batch, borrowed, and how they are pooled, in float32 and in
// the order of the lists:
//   SUM:         output row e = sum of weight × row over list e; zeros for an empty list
//   MEAN:        the same divided by the number of ids in the list, whatever their weights
//   SQUARE_ROOT_N: the same divided by the square root of that number
//   NONE:        output row i = the row of ids[i]; weights are not used
//   FIRST_N:     output row e = the rows of list e side by side, then zeros up to first_n × dim
//                numbers; weights are not used
struct IdLists {
  absl::Span<const int64_t> ids;
  // [batch + 1], not decreasing; list e is ids[offsets[e] - offsets[0]] up to, not including,
  // ids[offsets[e + 1] - offsets[0]].
  absl::Span<const int64_t> offsets;
  absl::Span<const float> weights;  // one for each id, or empty: all 1
  Pooling pooling = SUM;
  int64_t first_n = 1;  // of FIRST_N, at least 1. REQUIRES: no list is longer
  // Whether each list has one id, if somebody has looked.
  std::optional<bool> one_id_each = std::nullopt;

  int64_t batch() const { return static_cast<int64_t>(offsets.size()) - 1; }
  int64_t begin(int64_t list) const { return offsets[list] - offsets[0]; }
  int64_t end(int64_t list) const { return offsets[list + 1] - offsets[0]; }
  // What the sum over a list is divided by; REQUIRES: the list is not empty.
  float divisor(int64_t list) const;
  // Rows of the table in the width of an output row: first_n for FIRST_N, else 1.
  int64_t width() const { return pooling == FIRST_N ? first_n : 1; }
  // True if the output depends on the weights of ids.
  bool weighted() const { return !weights.empty() && pooling != NONE && pooling != FIRST_N; }
  // What the gradient of the row at place `at` of list `list` is multiplied by: its weight over the
  // divisor, in double; 1 for NONE and FIRST_N.
  double coefficient(int64_t list, int64_t at) const;
  // Whether output row i is the row of ids[i] as it is: pooling NONE, or no weights, one id in each
  // list and an output as wide as a row. Looks at all offsets if nobody has.
  bool copies() const;
};

}  // namespace millrace

#endif  // MILLRACE_EMBEDDING_TABLE_POOLING_H_
