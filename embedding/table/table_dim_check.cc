#include "embedding/table/table_dim_check.h"

#include "proto/field_check.h"

namespace millrace {

absl::Status check_table_dim(absl::string_view where, int64_t dim) {
  constexpr int64_t kMaxDim = 4096;
  return within(where, "dim", dim, 1, kMaxDim);
}

}  // namespace millrace
