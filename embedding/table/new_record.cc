#include "embedding/table/new_record.h"

#include <cstring>
#include <vector>

namespace millrace {
namespace {

// Writes weights in the type of the table, with the rounding of RowStore::write_weights().
void write_record(const EmbeddingTable& table, const std::vector<float>& weights, char* record) {
  const RowLayout& layout = table.layout();
  if (layout.type == RowType::kFloat32) {
    std::memcpy(record, weights.data(), layout.weight_bytes);
    return;
  }
  // Kernels accept any alignment. Zeroes the padding before the slots.
  std::memset(record, 0, layout.weight_bytes);
  table.kernels().round_to_nearest[static_cast<int>(layout.type)](weights.data(), table.dim(),
                                                                  record);
}

}  // namespace

void write_initial_record(const EmbeddingTable& table, int64_t id, char* record) {
  static thread_local std::vector<float> weights;
  weights.resize(table.dim());
  table.initial_row(id, absl::MakeSpan(weights));
  write_record(table, weights, record);
}

void write_default_record(const EmbeddingTable& table, int64_t id, char* record) {
  static thread_local std::vector<float> weights;
  weights.resize(table.dim());
  table.default_row(id, absl::MakeSpan(weights));
  write_record(table, weights, record);
}

}  // namespace millrace
