// The records of ids without a row.
#ifndef MILLRACE_EMBEDDING_TABLE_NEW_RECORD_H_
#define MILLRACE_EMBEDDING_TABLE_NEW_RECORD_H_

#include <cstdint>

#include "embedding/table/embedding_table.h"

namespace millrace {

// Both functions write the weights of a record: RowLayout::weight_bytes bytes in the table's type,
// with any alignment. Thread-safe.

// Writes the initial weights of the row of an id.
void write_initial_record(const EmbeddingTable& table, int64_t id, char* record);
// Writes the weights that an id without a row reads.
void write_default_record(const EmbeddingTable& table, int64_t id, char* record);

}  // namespace millrace

#endif  // MILLRACE_EMBEDDING_TABLE_NEW_RECORD_H_
