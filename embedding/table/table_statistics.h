// Figures of tables, for reports.
#ifndef MILLRACE_EMBEDDING_TABLE_TABLE_STATISTICS_H_
#define MILLRACE_EMBEDDING_TABLE_TABLE_STATISTICS_H_

#include <cstdint>

#include "embedding/policies/eviction.h"

namespace millrace {

// The number of lookups that change no table.
struct ReadCounts {
  int64_t lookups = 0;      // of ids, including repeated ids
  int64_t without_row = 0;  // of ids without a row

  ReadCounts since(const ReadCounts& earlier) const {
    return {lookups - earlier.lookups, without_row - earlier.without_row};
  }
};

// Figures of a table. Tentative rows and discarded steps do not count.
struct TableStatistics {
  // Current figures.
  int64_t rows = 0;
  int64_t bytes = 0;       // memory of rows, map, counts of ids without rows, evicted ids
  double load = 0;         // share of the map's entries in use
  int64_t candidates = 0;  // ids without a row with an exact count

  // Totals since the table was created, over all resumes.
  int64_t inserted = 0;         // rows inserted in training
  EvictionCounts evicted = {};  // rows by reason
  int64_t steps = 0;            // committed
  int64_t occurrences = 0;      // of ids in lookups
  int64_t unique_ids = 0;       // sum over steps of the number of distinct ids
  int64_t hottest = 0;          // sum over steps of the occurrences of the most frequent id
  int64_t unadmitted = 0;       // occurrences of ids that read the default value

  // Totals since the table was created in this process.
  ReadCounts frozen;     // lookups of a frozen table in training
  ReadCounts evaluated;  // lookups outside training

  int64_t evicted_rows() const {
    int64_t sum = 0;
    for (const int64_t rows : evicted) sum += rows;
    return sum;
  }
};

// The counters of a table in checkpoints.
struct TableCounters {
  int64_t applied_steps = 0;
  int64_t last_step = 0;         // the last committed step
  TableStatistics counted = {};  // totals over all resumes; other figures are 0
};

// A row of TableMaintenance::hottest().
struct HotId {
  int64_t id = 0;
  int64_t frequency = 0;

  friend bool operator==(const HotId&, const HotId&) = default;
};

}  // namespace millrace

#endif  // MILLRACE_EMBEDDING_TABLE_TABLE_STATISTICS_H_
