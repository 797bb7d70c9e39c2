#include "embedding/table/row_updater.h"

#include <algorithm>
#include <limits>

namespace millrace {
namespace {

// Prefetches the memory that an update of the rows at places [begin, end) uses, within seen.rows.
void prefetch_rows(const TableWriteAccess& table, const SeenRows& seen, size_t begin, size_t end) {
  for (size_t place = begin; place < std::min(end, seen.rows.size()); ++place) {
    table.prefetch_update(seen.rows[place], seen.records[place]);
  }
}

}  // namespace

RowUpdater::RowUpdater(TableWriteAccess& table, const RowOptimizer& optimizer,
                       const UpdateContext& context, int64_t step)
    : table_(table),
      kernels_(table.table().kernels()),
      optimizer_(optimizer),
      context_(context),
      step_(step),
      dim_(table.table().dim()),
      weight_bytes_(table.table().layout().weight_bytes),
      type_(static_cast<int>(table.table().layout().type)),
      widens_(table.table().layout().type != RowType::kFloat32),
      limits_(context.gradient_limit != std::numeric_limits<double>::infinity()),
      gradient_scale_(static_cast<float>(context.gradient_scale)),
      gradient_limit_(static_cast<float>(context.gradient_limit)),
      weights_(widens_ ? kRows * dim_ : 0),
      gradients_(limits_ ? kRows * dim_ : 0) {
  if (limits_) {
    context_.gradient_scale = 1;
    context_.gradient_limit = std::numeric_limits<double>::infinity();
  }
  updates_.reserve(kRows);
  rows_.reserve(kRows);
}

void RowUpdater::add(RowIndex row, char* record, const float* gradient) {
  auto* weights = reinterpret_cast<float*>(record);
  if (widens_) {
    weights = weights_.data() + next() * dim_;
    kernels_.widen[type_](record, dim_, weights);
  }
  rows_.push_back(row);
  updates_.push_back({weights, reinterpret_cast<float*>(record + weight_bytes_), gradient});
}

void RowUpdater::limit_gradients() {
  float* out = gradients_.data();
  for (RowUpdate& update : updates_) {
    for (int64_t i = 0; i < dim_; ++i) {
      out[i] = std::clamp(update.gradient[i] * gradient_scale_, -gradient_limit_, gradient_limit_);
    }
    update.gradient = out;
    out += dim_;
  }
}

void RowUpdater::update() {
  if (limits_) limit_gradients();
  optimizer_.update(context_, dim_, updates_);
  if (widens_) {
    for (int64_t i = 0; i < next(); ++i) round(i);
  }
  updates_.clear();
  rows_.clear();
}

void RowUpdater::round(int64_t i) {
  const uint64_t key = table_.rounding_key();
  const auto id = static_cast<uint64_t>(table_.id(rows_[i]));
  const uint32_t keys[2] = {static_cast<uint32_t>(key), static_cast<uint32_t>(key >> 32)};
  const uint32_t counter[3] = {static_cast<uint32_t>(step_), static_cast<uint32_t>(id),
                               static_cast<uint32_t>(id >> 32)};
  kernels_.round_randomly[type_](updates_[i].weights, dim_, keys, counter, table_.record(rows_[i]));
}

void update_rows(TableWriteAccess& table, const RowOptimizer& optimizer,
                 const UpdateContext& context, int64_t step, const SeenRows& seen,
                 absl::FunctionRef<const float* const*(size_t begin, size_t end)> read) {
  constexpr size_t kRows = RowUpdater::kRows, kAhead = 2 * kRows;
  RowUpdater updater(table, optimizer, context, step);
  prefetch_rows(table, seen, 0, kAhead);
  for (size_t begin = 0; begin < seen.rows.size(); begin += kRows) {
    const size_t end = std::min(begin + kRows, seen.rows.size());
    prefetch_rows(table, seen, begin + kAhead, end + kAhead);
    const float* const* gradients = read(begin, end);
    const auto rows = seen.rows.subspan(begin, end - begin);
    table.preserve(rows);
    for (size_t place = begin; place < end; ++place, ++gradients) {
      if (*gradients != nullptr) updater.add(seen.rows[place], seen.records[place], *gradients);
    }
    updater.update();
    // Occurrences are recorded now, while the RowMeta near the record is in the cache.
    table.table().record_occurrences(step, rows, seen.counts.subspan(begin, end - begin));
  }
}

}  // namespace millrace
