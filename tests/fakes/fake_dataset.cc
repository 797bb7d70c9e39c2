#include "tests/fakes/fake_dataset.h"

#include <ATen/ATen.h>

#include <limits>

#include "absl/strings/str_cat.h"
#include "base/random/philox.h"

namespace millrace {
namespace {

// Returns float32 [size, 2], the labels of examples [first, first + size). `labels`: their first
// labels, float32 [size, 1].
at::Tensor two_labels(const at::Tensor& labels, int64_t first) {
  at::Tensor both = at::full({labels.size(0), 2}, std::numeric_limits<float>::quiet_NaN());
  float* const label = both.mutable_data_ptr<float>();
  for (int64_t row = 0; row < labels.size(0); ++row) {
    const float given = labels.const_data_ptr<float>()[row];
    if ((first + row) % 4 != 1) label[2 * row] = given;
    if ((first + row) % 16 < 3) label[2 * row + 1] = 1 - given;
  }
  return both;
}

}  // namespace

absl::Status FakeDataset::start_epoch(int64_t epoch) {
  epoch_ = epoch;
  next_ = 0;
  return absl::OkStatus();
}

absl::Status FakeDataset::seek(absl::Span<const Cursor> cursors) {
  // Ranks read their parts of the same batch, so another number of ranks continues at the position
  // of the first rank.
  const bool same_world = static_cast<int64_t>(cursors.size()) == options_.world_size;
  const Cursor& own = cursors[same_world ? static_cast<size_t>(options_.rank) : 0];
  epoch_ = own.epoch;
  next_ = own.rows_left().empty() ? options_.batches : own.rows_left()[0].begin;
  return absl::OkStatus();
}

absl::StatusOr<std::optional<Batch>> FakeDataset::next() {
  if (cancelled_) return absl::CancelledError("cancelled");
  if (next_ == options_.batches) return std::optional<Batch>();
  if (next_ == options_.fail_at) return absl::DataLossError("fake data is damaged");
  const bool last = next_ + 1 == options_.batches && options_.last_batch > 0;
  const int64_t whole = last ? options_.last_batch : options_.batch_size;
  const int64_t first = whole * options_.rank / options_.world_size;
  const int64_t size = whole * (options_.rank + 1) / options_.world_size - first;
  Batch batch;
  batch.size = size;
  batch.dense = at::empty({size, options_.dense});
  batch.labels = at::empty({size, 1});
  batch.example_ids = at::empty({size}, at::kLong);
  batch.sparse.values = at::empty({size * options_.sparse}, at::kLong);
  batch.sparse.offsets = at::arange(size * options_.sparse + 1, at::kLong);
  float* dense = batch.dense.mutable_data_ptr<float>();
  for (int64_t row = 0; row < size; ++row) {
    const int64_t example = next_ * options_.batch_size + first + row;
    for (int64_t i = 0; i < options_.dense; ++i) {
      dense[row * options_.dense + i] = uniform24(philox(7 + epoch_, i, example)[0]) * 2 - 1;
    }
    batch.labels.mutable_data_ptr<float>()[row] = dense[row * options_.dense] > 0 ? 1.0f : 0.0f;
    batch.example_ids.mutable_data_ptr<int64_t>()[row] = example;
    for (int64_t f = 0; f < options_.sparse; ++f) {
      batch.sparse.values.mutable_data_ptr<int64_t>()[f * size + row] =
          static_cast<int64_t>(philox64(11 + epoch_, f, example) % options_.ids);
    }
  }
  if (options_.two_labels) {
    batch.labels = two_labels(batch.labels, next_ * options_.batch_size + first);
  }
  if (next_ == options_.nan_at) batch.dense.fill_(std::numeric_limits<float>::quiet_NaN());
  ++next_;
  batch.cursor.epoch = epoch_;
  if (next_ < options_.batches) {
    batch.cursor.left = std::vector<RowInterval>{{next_, options_.batches}};
  }
  return std::optional<Batch>(std::move(batch));
}

}  // namespace millrace
