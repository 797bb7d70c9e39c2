// Columns whose cell type (text or numbers) determines hashed ids.
#ifndef MILLRACE_IO_HASHED_COLUMNS_H_
#define MILLRACE_IO_HASHED_COLUMNS_H_

#include <map>
#include <string>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "proto/data_identity.pb.h"

namespace millrace {

// DataIdentity.column: by ascending name, each name once.
using HashedColumns = google::protobuf::RepeatedPtrField<DataIdentity::Column>;

// Returns DataIdentity::Column::time of the columns that have one, by name.
std::map<std::string, std::string> time_types_of(const HashedColumns& columns);

// Puts the columns of `newer` into `columns`, replacing columns of the same name.
void update_hashed_columns(const HashedColumns& newer, HashedColumns* columns);

// Returns the columns of all sources of a mix. Columns in which the sources differ have
// UNKNOWN_CELLS, so that such columns also replace columns of earlier data.
HashedColumns common_hashed_columns(absl::Span<const HashedColumns> sources);

// Compares columns of training with columns of other data. Does not compare columns missing on
// either side or with UNKNOWN_CELLS. Errors: InvalidArgument with a line naming the first differing
// column, both types and files, and the remedy; the same for units and zones of dates and times.
absl::Status check_hashed_columns(const HashedColumns& trained, const HashedColumns& now);

}  // namespace millrace

#endif  // MILLRACE_IO_HASHED_COLUMNS_H_
