#include "framework/ranks/padding.h"

#include <ATen/ATen.h>

#include <utility>

namespace millrace {
namespace {

at::Tensor first_rows(const at::Tensor& tensor, int64_t rows) {
  return tensor.defined() ? tensor.narrow(0, 0, rows) : tensor;
}

}  // namespace

Batch padding_batch(const Batch* like, int64_t tasks, Cursor cursor) {
  Batch batch;
  batch.cursor = std::move(cursor);
  if (like == nullptr) {
    batch.sparse.values = at::empty({0}, at::kLong);
    batch.sparse.offsets = at::zeros({1}, at::kLong);
    batch.dense = at::empty({0, 0});
    batch.labels = at::empty({0, tasks});
    batch.example_ids = at::empty({0}, at::kLong);
    return batch;
  }
  batch.sparse.values = first_rows(like->sparse.values, 0);
  batch.sparse.offsets = first_rows(like->sparse.offsets, 1);
  batch.sparse.weights = first_rows(like->sparse.weights, 0);
  batch.dense = first_rows(like->dense, 0);
  batch.labels = first_rows(like->labels, 0);
  batch.weights = first_rows(like->weights, 0);
  batch.example_ids = first_rows(like->example_ids, 0);
  batch.group_ids = first_rows(like->group_ids, 0);
  return batch;
}

}  // namespace millrace
