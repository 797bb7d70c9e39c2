// The options of one table.
#ifndef MILLRACE_EMBEDDING_TABLE_EMBEDDING_TABLE_OPTIONS_H_
#define MILLRACE_EMBEDDING_TABLE_EMBEDDING_TABLE_OPTIONS_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "base/isa/instruction_set.h"
#include "base/memory/block_pool.h"
#include "embedding/rows/placement.h"
#include "embedding/rows/row_store.h"
#include "embedding/rows/row_type.h"
#include "proto/config.pb.h"

namespace millrace {

// All members except added_columns, evicted_log_ids, max_own_rows, instruction_set and blocks
// decide results.
struct EmbeddingTableOptions {
  std::string name;
  int64_t dim = 16;  // columns; 1 to 4096
  // The number of columns that the model has added to the configured ones; they are the last
  // columns. Rows in files may omit them. Does not decide results. Below dim.
  int64_t added_columns = 0;
  InitializerConfig initializer;
  uint64_t seed = 1;
  AdmissionConfig admission;
  DefaultValueConfig default_value;
  std::optional<EvictionConfig> eviction;
  LimitConfig limit;
  RowType type = RowType::kFloat32;
  // Default: the best supported by the machine.
  InstructionSet instruction_set = best_instruction_set();
  // The source of memory; null: a private pool.
  std::shared_ptr<BlockPool> blocks;
  // Selects the ids whose rows this table has. Default: all ids.
  Placement placement = {};
  int64_t evicted_log_ids = 1 << 20;  // maximum length of the log of evicted ids; 8 bytes each
  int64_t max_own_rows = RowStore::kMaxRows;  // rows that this rank can number

  static EmbeddingTableOptions from_config(const TableConfig& config, uint64_t seed);
};

}  // namespace millrace

#endif  // MILLRACE_EMBEDDING_TABLE_EMBEDDING_TABLE_OPTIONS_H_
