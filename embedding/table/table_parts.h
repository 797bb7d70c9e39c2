// The state of a table.
#ifndef MILLRACE_EMBEDDING_TABLE_TABLE_PARTS_H_
#define MILLRACE_EMBEDDING_TABLE_TABLE_PARTS_H_

#include <atomic>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "base/shared_mutex.h"
#include "embedding/id_map/id_map.h"
#include "embedding/policies/admission.h"
#include "embedding/policies/evicted_log.h"
#include "embedding/policies/eviction.h"
#include "embedding/rows/initializer.h"
#include "embedding/rows/kernels.h"
#include "embedding/rows/row_store.h"
#include "embedding/table/embedding_table_options.h"
#include "embedding/table/table_statistics.h"

namespace millrace {

// Counters of lookups that change no table. Thread-safe.
struct AtomicReadCounts {
  void add(const ReadCounts& counts) {
    lookups.fetch_add(counts.lookups, std::memory_order_relaxed);
    without_row.fetch_add(counts.without_row, std::memory_order_relaxed);
  }
  ReadCounts read() const {
    return {lookups.load(std::memory_order_relaxed), without_row.load(std::memory_order_relaxed)};
  }

  std::atomic<int64_t> lookups = 0, without_row = 0;
};

// The state of an EmbeddingTable, which owns it. Only TableContent, TableMaintenance,
// TableReadAccess and TableWriteAccess also have access.
struct TableParts {
  // Creates an empty state. REQUIRES: options.blocks is not null.
  TableParts(EmbeddingTableOptions options, Initializer initializer,
             std::unique_ptr<Admission> admission, std::optional<EvictionRules> eviction);
  TableParts(const TableParts&) = delete;
  TableParts& operator=(const TableParts&) = delete;

  // Returns true inside a step: see EmbeddingTable::in_step().
  bool in_step() const { return rows_held || !tentative.empty() || !unadmitted.empty(); }
  int64_t committed_rows() const { return store.size() - static_cast<int64_t>(tentative.size()); }
  bool on_several_ranks() const { return options.placement.world_size > 1; }
  // Returns the number of committed rows that count against the limit: on several ranks, the rows
  // of all ranks; nullopt if unknown.
  std::optional<int64_t> rows_that_count() const {
    return on_several_ranks() ? rows_of_all_ranks : committed_rows();
  }

  EmbeddingTableOptions options;  // constant except the placement
  const Initializer initializer;
  const Kernels& kernels;
  // The key of the stochastic rounding of 16-bit rows: xxh3 of "<name>/rounding" with the seed.
  const uint64_t rounding_key;
  const std::optional<EvictionRules> eviction;
  int64_t row_limit = std::numeric_limits<int64_t>::max();
  mutable SharedMutex mutex;
  std::vector<float> weights;  // scratch memory of one row as float32

  // Content.
  std::unique_ptr<Admission> admission;
  IdMap map;
  RowStore store;
  EvictedLog evicted;
  TableStatistics counted;  // counters only; other figures are 0
  int64_t step = 0;         // of the last commit
  int64_t applied_steps = 0;

  // See TableStatistics.
  mutable AtomicReadCounts frozen_reads, evaluated_reads;

  // The current step.
  std::optional<int64_t> rows_of_all_ranks;  // at the beginning of the step, on several ranks
  std::vector<RowIndex> tentative;           // in the order of insertion
  // Ids without a row in this step, with their numbers of occurrences.
  absl::flat_hash_map<int64_t, uint32_t> unadmitted;
  bool rows_held = false;  // by a sharded step, which has no tentative rows before its update
  uint32_t hottest = 0;    // occurrences of the most frequent recorded id
};

}  // namespace millrace

#endif  // MILLRACE_EMBEDDING_TABLE_TABLE_PARTS_H_
