// Columns whose cell type (text or numbers) determines hashed ids.
#ifndef MILLRACE_IO_HASHED_COLUMNS_H_
#define MILLRACE_IO_HASHED_COLUMNS_H_

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "proto/data_identity.pb.h"

namespace millrace {

// DataIdentity.column: by ascending name, each name once.
using HashedColumns = google::protobuf::RepeatedPtrField<DataIdentity::Column>;

// Puts the columns of `newer` into `columns`, also in place of those of the same name.
void update_hashed_columns(const HashedColumns& newer, HashedColumns* columns);

// Returns the columns of all sources of a mix. Those of which the sources differ have
// UNKNOWN_CELLS, so that they also replace what earlier data had.
HashedColumns common_hashed_columns(absl::Span<const HashedColumns> sources);

// Compares columns of training with those of other data. Columns that only one of both has, and
// those with UNKNOWN_CELLS, are not compared. Errors: InvalidArgument with one line that names the
// first column that differs, the types and files of both, and what to do.
absl::Status check_hashed_columns(const HashedColumns& trained, const HashedColumns& now);

}  // namespace millrace

#endif  // MILLRACE_IO_HASHED_COLUMNS_H_
