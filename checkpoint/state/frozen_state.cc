#include "checkpoint/state/frozen_state.h"

#include <ATen/ATen.h>

#include <utility>

#include "absl/status/status.h"
#include "base/catch_exceptions.h"
#include "base/status_macros.h"

namespace millrace {
namespace {

constexpr int64_t kHeaderBytes = 128;  // of a tensor, in its file and in the manifest

at::Tensor copy_to_cpu(const at::Tensor& tensor) {
  return tensor.detach().to(at::kCPU, tensor.scalar_type(), /*non_blocking=*/false, /*copy=*/true,
                            at::MemoryFormat::Contiguous);
}

// `copies`: if true, every tensor is a copy; if false, tensors on the CPU share the trainer's
// memory.
FrozenState without_tables(const TrainState& state, bool copies) {
  FrozenState frozen;
  frozen.dense = state.dense;
  frozen.optimizer_tensors = state.optimizer_tensors();
  for (auto* tensors : {&frozen.dense, &frozen.optimizer_tensors}) {
    for (NamedParameter& tensor : *tensors) {
      if (copies || !tensor.value.is_cpu()) tensor.value = copy_to_cpu(tensor.value);
    }
  }
  frozen.shared = state.shared;
  frozen.rank = state.rank;
  frozen.left_out = state.left_out;
  return frozen;
}

}  // namespace

int64_t FrozenState::size_bytes() const {
  auto bytes = static_cast<int64_t>(shared.ByteSizeLong() + rank.ByteSizeLong());
  for (const auto* tensors : {&dense, &optimizer_tensors}) {
    for (const NamedParameter& tensor : *tensors) {
      bytes += kHeaderBytes + static_cast<int64_t>(tensor.value.nbytes());
    }
  }
  for (const auto& table : tables) {
    bytes += kHeaderBytes * static_cast<int64_t>(4 + table->slots().size());
    bytes += table->rows().size() * (table->rows().layout().content_bytes() + kRowStateBytes);
  }
  return bytes;
}

FrozenState view_state(const TrainState& state) {
  FrozenState frozen = without_tables(state, /*copies=*/false);
  for (const EmbeddingTable* table : state.tables) {
    frozen.tables.push_back(table->content().view());
  }
  return frozen;
}

absl::StatusOr<FrozenState> freeze_state(const TrainState& state,
                                         std::shared_ptr<UndoBudget> budget, ThreadPool& threads) {
  FrozenState frozen = without_tables(state, /*copies=*/true);
  frozen.tables.resize(state.tables.size());
  std::vector<absl::Status> outcomes(state.tables.size());
  threads.parallel_for(static_cast<int64_t>(state.tables.size()), [&](int64_t t) {
    outcomes[t] = catch_exceptions([&] {
      frozen.tables[t] = state.tables[t]->content().freeze(budget);
      return absl::OkStatus();
    });
  });
  for (const absl::Status& outcome : outcomes) RETURN_IF_ERROR(outcome);
  return frozen;
}

void select_rows(const TableRowFilter& filter, FrozenState* frozen, ThreadPool& threads) {
  const int64_t step = frozen->shared.progress().step();
  for (std::unique_ptr<TableSnapshot>& table : frozen->tables) {
    if (!filter.filters(table->name())) continue;
    const auto saves = [&](int64_t id, const RowMeta& meta) {
      return filter.filter->saves({.table = table->name(),
                                   .id = id,
                                   .frequency = meta.frequency,
                                   .last_step = meta.last_step,
                                   .step = step});
    };
    table->select(saves, threads);
  }
}

int64_t row_bytes(const TrainState& state) {
  int64_t bytes = 0;
  for (const EmbeddingTable* table : state.tables) {
    bytes += table->rows() * table->layout().content_bytes();
  }
  return bytes;
}

}  // namespace millrace
