// Rows that a table reads in place of its own.
#ifndef MILLRACE_EMBEDDING_TABLE_RECORD_SOURCE_H_
#define MILLRACE_EMBEDDING_TABLE_RECORD_SOURCE_H_

#include <cstdint>

#include "absl/types/span.h"

namespace millrace {

// Immutable rows by id, such as those of a published table. Thread-safe.
class RecordSource {
 public:
  virtual ~RecordSource() = default;

  // Sets records[i] to the weights of the row of ids[i], of the table's type and dim; null: no row.
  // The memory lives as long as the source. REQUIRES: sizes are equal.
  virtual void find(absl::Span<const int64_t> ids, absl::Span<const char*> records) const = 0;
};

}  // namespace millrace

#endif  // MILLRACE_EMBEDDING_TABLE_RECORD_SOURCE_H_
