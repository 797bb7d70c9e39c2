// Transforms that change lists of ids, row by row and weights with them. FeatureTransform
// (io/feature/feature_transform.h) strings them together with those of io/transform/transform.h.
#ifndef MILLRACE_IO_TRANSFORM_LIST_TRANSFORM_H_
#define MILLRACE_IO_TRANSFORM_LIST_TRANSFORM_H_

#include <cstdint>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "io/block.h"
#include "io/column.h"
#include "proto/config.pb.h"

namespace millrace {

// Gives a column offsets even where every row holds one id.
void make_jagged(IdColumn* column);

// Each value becomes `count` ids, for k = 0 ... count - 1
//   k × divisor + hash(value, seed + k) modulo divisor
// so that each hash function has ids of its own (Tito Svenstrup, Hansen and Winther, "Hash
// Embeddings", 2017). The values are `texts`, or the column's ids themselves if it is null.
// REQUIRES: count >= 1, divisor >= 1, count × divisor <= 2^63; as many texts as the column has
// values.
void multi_hash(HashTransform::Function function, uint64_t seed, int64_t count, uint64_t divisor,
                const StringValues* texts, IdColumn* column);

// Each id a of a row with each id b of the same row of `other`, a's first one first:
//   XXH3(8 little-endian bytes of a, 8 of b; seed)
// with their weights multiplied. Row r goes with row `first_row` + r of `other`.
// REQUIRES: first_row + column->rows <= other.rows.
void cross(const IdColumn& other, int64_t first_row, uint64_t seed, IdColumn* column);

// Only the first or last `count` ids of each row stay. REQUIRES: count >= 1.
void truncate(int64_t count, TruncateTransform::Keep keep, IdColumn* column);

// Of equal ids of a row the first stays, where the column has weights with the sum of theirs.
void unique(IdColumn* column);

// Leaves out the values whose flag is 0. REQUIRES: as many flags as values.
void keep_values(absl::Span<const uint8_t> flags, IdColumn* column);

}  // namespace millrace

#endif  // MILLRACE_IO_TRANSFORM_LIST_TRANSFORM_H_
