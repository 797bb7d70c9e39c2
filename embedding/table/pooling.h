// Pooling of the lists of ids of a feature.
#ifndef MILLRACE_EMBEDDING_TABLE_POOLING_H_
#define MILLRACE_EMBEDDING_TABLE_POOLING_H_

#include <cstdint>
#include <optional>

#include "absl/types/span.h"
#include "proto/config.pb.h"

namespace millrace {

// The lists of one feature in one micro-batch, borrowed, and their pooling. Pooling is float32
// arithmetic in the order of the lists:
//   SUM:         output row e = sum of weight × row over list e; zeros for an empty list
//   MEAN:        as SUM, divided by the number of ids in the list, also with weights
//   SQUARE_ROOT_N: as SUM, divided by the square root of the number of ids
//   NONE:        output row i = the row of ids[i]; weights have no effect
//   FIRST_N:     output row e = the concatenated rows of list e, then zeros up to first_n × dim
//                floats; weights have no effect
struct IdLists {
  absl::Span<const int64_t> ids;
  // [batch + 1], not decreasing. List e consists of ids[offsets[e] - offsets[0]] up to, not
  // including, ids[offsets[e + 1] - offsets[0]].
  absl::Span<const int64_t> offsets;
  absl::Span<const float> weights;  // [ids], or empty: all 1
  Pooling pooling = SUM;
  int64_t first_n = 1;  // for FIRST_N, at least 1. REQUIRES: no list is longer
  // True if every list has one id; nullopt if unknown.
  std::optional<bool> one_id_each = std::nullopt;

  int64_t batch() const { return static_cast<int64_t>(offsets.size()) - 1; }
  int64_t begin(int64_t list) const { return offsets[list] - offsets[0]; }
  int64_t end(int64_t list) const { return offsets[list + 1] - offsets[0]; }
  // Returns the divisor of the sum over a list. REQUIRES: the list is not empty.
  float divisor(int64_t list) const;
  // Returns the number of table rows per output row: first_n for FIRST_N, else 1.
  int64_t width() const { return pooling == FIRST_N ? first_n : 1; }
  // Returns true if the output depends on the weights of ids.
  bool weighted() const { return !weights.empty() && pooling != NONE && pooling != FIRST_N; }
  // Returns the factor of the gradient for the row at place `at` in list `list`: its weight divided
  // by the divisor, in float64; 1 for NONE and FIRST_N.
  double coefficient(int64_t list, int64_t at) const;
  // Returns true if output row i equals the row of ids[i]: with pooling NONE, or without weights if
  // each list has one id and an output row the width of a row. Reads all offsets if one_id_each is
  // unknown.
  bool copies() const;
};

}  // namespace millrace

#endif  // MILLRACE_EMBEDDING_TABLE_POOLING_H_
