// What ids without a row read.
#ifndef MILLRACE_EMBEDDING_TABLE_NEW_RECORD_H_
#define MILLRACE_EMBEDDING_TABLE_NEW_RECORD_H_

#include <cstdint>

#include "embedding/table/embedding_table.h"

namespace millrace {

// Write the weights of a record, RowStore::weight_bytes() of the table's type, at any address. Safe
// from many threads.
// What the row of this id holds when it appears.
void write_initial_record(const EmbeddingTable& table, int64_t id, char* record);
// What an id reads that gets no row.
void write_default_record(const EmbeddingTable& table, int64_t id, char* record);

}  // namespace millrace

#endif  // MILLRACE_EMBEDDING_TABLE_NEW_RECORD_H_
