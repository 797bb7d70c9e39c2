// A table's rows and state on their way back from files.
#ifndef MILLRACE_CHECKPOINT_STATE_TABLE_READER_H_
#define MILLRACE_CHECKPOINT_STATE_TABLE_READER_H_

#include <map>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/thread_pool.h"
#include "checkpoint/folder/checkpoint_reader.h"
#include "checkpoint/placed_rows.h"
#include "embedding/table/embedding_table.h"

namespace millrace {

struct TableReaderOptions {
  std::string table;        // its name in the checkpoint
  bool row_state = true;    // slots, frequencies, last steps; else initial slots and zeros
  bool table_state = true;  // admission and evicted ids, where they are there
  // With them: whether last steps and admission are.
  bool last_step = true;
  bool admission = true;
  // Slots of `table` that are read → their names in the checkpoint; none: all, under their own.
  std::optional<std::map<std::string, std::string>> slots;
};

// Reads the rows of one table of one checkpoint into `table`, of a table on several ranks those of
// this rank (EmbeddingTable::placement), whatever number of ranks wrote them: ids that are there
// already are replaced; of a delta, those of the tombstones go first. Rows go straight from the
// files' chunks into their records. Counters of the table (TableContent::set_counters) are not
// touched. Afterwards the table holds, on success, what the checkpoint does and what was there
// before; after an error, anything: load into a table made by make_empty(). Every byte that is read
// is checked: of files that other ranks' rows are in too, the chunks with rows of this one and all
// ids. REQUIRES: the manifest has the table, and what is read fits, as table_differences() tells.
// Errors: DataLoss naming file and tensor for damage and for content that breaks a rule;
// ResourceExhausted if the table's limits do not allow so many rows; those of reading.
absl::Status read_table(const CheckpointReader& checkpoint, const TableReaderOptions& options,
                        EmbeddingTable& table, ThreadPool& threads);

// The same through a chain: a whole checkpoint, or one and the deltas on it, into an empty table.
// State of the table comes from the last one. REQUIRES: that one has the table.
// Returns: the rows of this rank, and as many as the last one states.
// Errors: also DataLoss for another number of rows on one rank; ResourceExhausted if the limit of
// the table does not allow the rows of all ranks.
absl::StatusOr<PlacedRows> read_table_chain(CheckpointChain chain, TableReaderOptions options,
                                            EmbeddingTable& table, ThreadPool& threads);

}  // namespace millrace

#endif  // MILLRACE_CHECKPOINT_STATE_TABLE_READER_H_
