#include "io/feature/batch_builder.h"

#include <ATen/ops/empty.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "base/log.h"
#include "io/column_rows.h"

namespace millrace {
namespace {

int64_t* int64_data(const at::Tensor& tensor) { return tensor.mutable_data_ptr<int64_t>(); }
float* float_data(const at::Tensor& tensor) { return tensor.mutable_data_ptr<float>(); }

// Rows that lie side by side in a block.
struct Piece {
  const Block* block;
  int64_t first;
  int64_t count;

  int64_t end() const { return first + count; }
};
using Pieces = std::vector<Piece>;

Pieces look_at(absl::Span<const BatchPiece> pieces) {
  Pieces out;
  for (const BatchPiece& piece : pieces) {
    if (piece.rows.empty()) continue;
    MILLRACE_CHECK(is_in_order(piece.rows)) << "a block that was not put in order";
    out.push_back({piece.block, piece.rows.front().row, static_cast<int64_t>(piece.rows.size())});
  }
  return out;
}

// Writes one column of a matrix of `stride` columns, or with stride 1 a vector. `column` gives
// that column of a block.
template <typename T, typename ColumnOf>
void gather(const Pieces& pieces, ColumnOf column, int64_t stride, T* out) {
  for (const Piece& piece : pieces) {
    const T* const values = column(*piece.block).data() + piece.first;
    if (stride == 1) {
      out = std::copy_n(values, piece.count, out);
      continue;
    }
    for (int64_t i = 0; i < piece.count; ++i, out += stride) *out = values[i];
  }
}

at::Tensor gather_matrix(const Pieces& pieces, int64_t size,
                         std::vector<std::vector<float>> Block::*columns) {
  const int64_t count = static_cast<int64_t>((pieces.front().block->*columns).size());
  at::Tensor matrix = at::empty({size, count}, at::kFloat);
  for (int64_t c = 0; c < count; ++c) {
    gather(
        pieces, [&](const Block& block) -> const auto& { return (block.*columns)[c]; }, count,
        float_data(matrix) + c);
  }
  return matrix;
}

// Adds one feature's offsets. Returns: the total so far.
int64_t add_offsets(const Pieces& pieces, int64_t feature, int64_t total, int64_t* offsets) {
  for (const Piece& piece : pieces) {
    const IdColumn& column = piece.block->sparse[feature];
    if (column.offsets.empty()) {
      for (int64_t i = 0; i < piece.count; ++i) *offsets++ = ++total;
      continue;
    }
    const int64_t* const ends = column.offsets.data() + 1 + piece.first;
    const int64_t before = total - column.begin(piece.first);
    for (int64_t i = 0; i < piece.count; ++i) *offsets++ = before + ends[i];
    total = offsets[-1];
  }
  return total;
}

// Returns: where the next feature's values begin.
int64_t* copy_values(const Pieces& pieces, int64_t feature, int64_t* out) {
  for (const Piece& piece : pieces) {
    const IdColumn& column = piece.block->sparse[feature];
    const int64_t* const values = column.values.data();
    out = std::copy(values + column.begin(piece.first), values + column.begin(piece.end()), out);
  }
  return out;
}

// The same for weights; a column without them weighs 1.
float* copy_weights(const Pieces& pieces, int64_t feature, float* out) {
  for (const Piece& piece : pieces) {
    const IdColumn& column = piece.block->sparse[feature];
    const int64_t begin = column.begin(piece.first), end = column.begin(piece.end());
    if (column.weights.empty()) {
      out = std::fill_n(out, end - begin, 1.0f);
    } else {
      out = std::copy(column.weights.data() + begin, column.weights.data() + end, out);
    }
  }
  return out;
}

bool has_weights(const Pieces& pieces) {
  for (const Piece& piece : pieces) {
    for (const IdColumn& column : piece.block->sparse) {
      if (!column.weights.empty()) return true;
    }
  }
  return false;
}

KeyedJagged gather_sparse(const Pieces& pieces, int64_t size) {
  const int64_t features = static_cast<int64_t>(pieces.front().block->sparse.size());
  KeyedJagged jagged;
  jagged.offsets = at::empty({features * size + 1}, at::kLong);
  int64_t* offsets = int64_data(jagged.offsets);
  *offsets++ = 0;
  int64_t total = 0;
  for (int64_t f = 0; f < features; ++f) {
    total = add_offsets(pieces, f, total, offsets + f * size);
  }
  jagged.values = at::empty({total}, at::kLong);
  int64_t* values = int64_data(jagged.values);
  for (int64_t f = 0; f < features; ++f) values = copy_values(pieces, f, values);
  if (has_weights(pieces)) {
    jagged.weights = at::empty({total}, at::kFloat);
    float* weights = float_data(jagged.weights);
    for (int64_t f = 0; f < features; ++f) weights = copy_weights(pieces, f, weights);
  }
  return jagged;
}

// Undefined if no block has weights; else the weights of blocks without weights are 1.
at::Tensor gather_weights(const Pieces& pieces, int64_t size) {
  const bool weighted = std::any_of(pieces.begin(), pieces.end(), [](const Piece& piece) {
    return !piece.block->weights.empty();
  });
  if (!weighted) return at::Tensor();
  at::Tensor weights = at::empty({size}, at::kFloat);
  float* out = float_data(weights);
  for (const Piece& piece : pieces) {
    const std::vector<float>& values = piece.block->weights;
    out = values.empty() ? std::fill_n(out, piece.count, 1.0f)
                         : std::copy_n(values.data() + piece.first, piece.count, out);
  }
  return weights;
}

std::shared_ptr<const std::vector<Column>> gather_kept(const Pieces& pieces) {
  const size_t count = pieces.front().block->kept.size();
  if (count == 0) return nullptr;
  auto kept = std::make_shared<std::vector<Column>>(count);  // shared by copies of the batch
  for (const Piece& piece : pieces) {
    for (size_t c = 0; c < count; ++c) {
      append_rows(piece.block->kept[c], piece.first, piece.end(), (*kept)[c]);
    }
  }
  return kept;
}

}  // namespace

Batch build_batch(absl::Span<const BatchPiece> parts) {
  Batch batch;
  const Pieces pieces = look_at(parts);
  for (const Piece& piece : pieces) batch.size += piece.count;
  const Block& first = *pieces.front().block;
  batch.sparse = gather_sparse(pieces, batch.size);
  batch.dense = gather_matrix(pieces, batch.size, &Block::dense);
  batch.labels = gather_matrix(pieces, batch.size, &Block::labels);
  batch.example_ids = at::empty({batch.size}, at::kLong);
  gather(
      pieces, [](const Block& block) -> const auto& { return block.example_ids; }, 1,
      int64_data(batch.example_ids));
  batch.weights = gather_weights(pieces, batch.size);
  if (!first.group_ids.empty()) {
    batch.group_ids = at::empty({batch.size}, at::kLong);
    gather(
        pieces, [](const Block& block) -> const auto& { return block.group_ids; }, 1,
        int64_data(batch.group_ids));
  }
  batch.kept = gather_kept(pieces);
  return batch;
}

}  // namespace millrace
