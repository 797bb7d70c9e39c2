// Reads a table's rows and state from files.
#ifndef MILLRACE_CHECKPOINT_STATE_TABLE_READER_H_
#define MILLRACE_CHECKPOINT_STATE_TABLE_READER_H_

#include <map>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/thread_pool.h"
#include "checkpoint/folder/checkpoint_reader.h"
#include "checkpoint/state/placed_rows.h"
#include "embedding/table/embedding_table.h"

namespace millrace {

struct TableReaderOptions {
  std::string table;        // name of the table in the checkpoint
  bool row_state = true;    // slots, frequencies, last steps; else initial slots and zeros
  bool table_state = true;  // admission and evicted ids, if the checkpoint has them
  // Further selection of row_state and table_state: last steps and admission.
  bool last_step = true;
  bool admission = true;
  // Slots of `table` to read → their names in the checkpoint. None: all slots, by their own names.
  std::optional<std::map<std::string, std::string>> slots;
};

// Reads the rows of one table of one checkpoint into `table`. Of a table on several ranks, reads
// this rank's rows (EmbeddingTable::placement), written by any number of ranks. Rows replace
// existing rows of the same id; for a delta, first removes the rows of the tombstones. Row data
// goes directly from the files' chunks into the rows' records. Does not change the table's counters
// (TableContent::set_counters). After success the table has its earlier content and the
// checkpoint's. After an error its content is undefined: load into a table made by make_empty().
// Every byte is checked as it is read. Of a file with rows of several ranks, the chunks with rows
// of this rank and all ids are read.
// REQUIRES: the manifest has the table, and the content to read fits according to
// table_differences().
// Errors: DataLoss naming file and tensor for damage and for content that breaks a rule;
// ResourceExhausted if the table's limits do not allow the number of rows; read errors.
absl::Status read_table(const CheckpointReader& checkpoint, const TableReaderOptions& options,
                        EmbeddingTable& table, ThreadPool& threads);

// Reads a table like read_table(), but through a chain: a whole checkpoint and any deltas on it,
// into an empty table. The table's state comes from the last checkpoint. Returns the number of this
// rank's rows, and the number of rows that the last manifest states.
// REQUIRES: the last checkpoint has the table.
// Errors: as read_table(); DataLoss also for another number of rows on one rank; ResourceExhausted
// if the table's limit does not allow the rows of all ranks.
absl::StatusOr<PlacedRows> read_table_chain(CheckpointChain chain, TableReaderOptions options,
                                            EmbeddingTable& table, ThreadPool& threads);

}  // namespace millrace

#endif  // MILLRACE_CHECKPOINT_STATE_TABLE_READER_H_
