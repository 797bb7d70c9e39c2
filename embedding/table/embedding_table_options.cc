#include "embedding/table/embedding_table_options.h"

namespace millrace {
namespace {

RowType row_type(RowDtype dtype) {
  switch (dtype) {
    case FLOAT16: return RowType::kFloat16;
    case BFLOAT16: return RowType::kBfloat16;
    default: return RowType::kFloat32;
  }
}

}  // namespace

EmbeddingTableOptions EmbeddingTableOptions::from_config(const TableConfig& config, uint64_t seed) {
  EmbeddingTableOptions options;
  options.name = config.name();
  options.dim = config.dim();
  options.initializer = config.initializer();
  options.seed = seed;
  options.admission = config.admission();
  options.default_value = config.default_value();
  if (config.has_eviction()) options.eviction = config.eviction();
  options.limit = config.limit();
  options.type = row_type(config.row_dtype());
  return options;
}

}  // namespace millrace
