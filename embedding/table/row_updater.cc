#include "embedding/table/row_updater.h"

#include <algorithm>
#include <limits>

namespace millrace {

RowUpdater::RowUpdater(EmbeddingTable& table, const RowOptimizer& optimizer,
                       const UpdateContext& context, int64_t step)
    : table_(table),
      optimizer_(optimizer),
      context_(context),
      step_(step),
      dim_(table.dim()),
      weight_bytes_(table.store().weight_bytes()),
      type_(static_cast<int>(table.store().type())),
      widens_(table.store().type() != RowType::kFloat32),
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
    table_.kernels().widen[type_](record, dim_, weights);
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
  const auto id = static_cast<uint64_t>(table_.store().id(rows_[i]));
  const uint32_t keys[2] = {static_cast<uint32_t>(key), static_cast<uint32_t>(key >> 32)};
  const uint32_t counter[3] = {static_cast<uint32_t>(step_), static_cast<uint32_t>(id),
                               static_cast<uint32_t>(id >> 32)};
  table_.kernels().round_randomly[type_](updates_[i].weights, dim_, keys, counter,
                                         table_.store().record(rows_[i]));
}

}  // namespace millrace
