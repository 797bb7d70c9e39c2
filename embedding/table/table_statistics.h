// Figures of tables for reports.
#ifndef MILLRACE_EMBEDDING_TABLE_TABLE_STATISTICS_H_
#define MILLRACE_EMBEDDING_TABLE_TABLE_STATISTICS_H_

#include <cstdint>

#include "embedding/policies/eviction.h"

namespace millrace {

// Lookups that change no table.
struct ReadCounts {
  int64_t lookups = 0;      // of ids, repeated ids included
  int64_t without_row = 0;  // of ids that have no row

  ReadCounts since(const ReadCounts& earlier) const {
    return {lookups - earlier.lookups, without_row - earlier.without_row};
  }
};

// Tentative rows and steps that were discarded do not count.
struct TableStatistics {
  // Now.
  int64_t rows = 0;
  int64_t bytes = 0;       // memory of rows, map, counts of ids without rows, evicted ids
  double load = 0;         // the share of the map's entries in use
  int64_t candidates = 0;  // ids without a row that have an exact count

  // Since the table was made, over all resumes.
  int64_t inserted = 0;         // rows that appeared in training
  EvictionCounts evicted = {};  // rows, by reason
  int64_t steps = 0;            // committed
  int64_t occurrences = 0;      // of ids in their lookups
  int64_t unique_ids = 0;       // the sum over steps of the distinct ids of each
  int64_t hottest = 0;          // the sum over steps of the occurrences of the most frequent id
  int64_t unadmitted = 0;       // occurrences of ids that read the default value

  // Since the table was created in this process.
  ReadCounts frozen;     // lookups of a frozen table in training
  ReadCounts evaluated;  // lookups outside training

  int64_t evicted_rows() const {
    int64_t sum = 0;
    for (const int64_t rows : evicted) sum += rows;
    return sum;
  }
};

// The counters of a table that checkpoints hold.
struct TableCounters {
  int64_t applied_steps = 0;
  int64_t last_step = 0;         // the step committed last
  TableStatistics counted = {};  // what is since the table was made; the rest is 0
};

// One row of TableMaintenance::hottest.
struct HotId {
  int64_t id = 0;
  int64_t frequency = 0;

  friend bool operator==(const HotId&, const HotId&) = default;
};

}  // namespace millrace

#endif  // MILLRACE_EMBEDDING_TABLE_TABLE_STATISTICS_H_
