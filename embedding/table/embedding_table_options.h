// Options of one table.
#ifndef MILLRACE_EMBEDDING_TABLE_EMBEDDING_TABLE_OPTIONS_H_
#define MILLRACE_EMBEDDING_TABLE_EMBEDDING_TABLE_OPTIONS_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "base/isa/instruction_set.h"
#include "base/memory/block_pool.h"
#include "embedding/rows/placement.h"
#include "embedding/rows/row_type.h"
#include "proto/config.pb.h"

namespace millrace {

// Decides the result, but for evicted_log_ids, instruction_set and blocks.
struct EmbeddingTableOptions {
  std::string name;
  int64_t dim = 16;  // columns; 1 to 4096
  // How many of these, the last ones, the model has added to those of the configuration. Rows from
  // files may come without them. Decides no result by itself. Below dim.
  int64_t added_columns = 0;
  InitializerConfig initializer;
  uint64_t seed = 1;
  AdmissionConfig admission;
  DefaultValueConfig default_value;
  std::optional<EvictionConfig> eviction;
  LimitConfig limit;
  RowType type = RowType::kFloat32;
  // Default: the best this machine has.
  InstructionSet instruction_set = best_instruction_set();
  // Where memory comes from; null: a pool of the table's own.
  std::shared_ptr<BlockPool> blocks;
  // The ids whose rows this table holds. Default: all.
  Placement placement = {};
  int64_t evicted_log_ids = 1 << 20;  // that evicted_since can list at most; 8 bytes each

  static EmbeddingTableOptions from_config(const TableConfig& config, uint64_t seed);
};

}  // namespace millrace

#endif  // MILLRACE_EMBEDDING_TABLE_EMBEDDING_TABLE_OPTIONS_H_
