// The rule for the columns of a table.
#ifndef MILLRACE_EMBEDDING_TABLE_TABLE_DIM_CHECK_H_
#define MILLRACE_EMBEDDING_TABLE_TABLE_DIM_CHECK_H_

#include <cstdint>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace millrace {

// Checks TableConfig.dim, 1 to 4096. Errors: InvalidArgument that begins with `where`, the place of
// the table.
absl::Status check_table_dim(absl::string_view where, int64_t dim);

}  // namespace millrace

#endif  // MILLRACE_EMBEDDING_TABLE_TABLE_DIM_CHECK_H_
