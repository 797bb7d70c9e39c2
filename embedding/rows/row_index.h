// Row numbers.
#ifndef MILLRACE_EMBEDDING_ROWS_ROW_INDEX_H_
#define MILLRACE_EMBEDDING_ROWS_ROW_INDEX_H_

#include <cstdint>

namespace millrace {

// The number of a row within its table, in this process. Results do not depend on row numbers: the
// same rows may have other numbers after a restart.
using RowIndex = uint32_t;

inline constexpr RowIndex kNoRow = 0xffffffff;

}  // namespace millrace

#endif  // MILLRACE_EMBEDDING_ROWS_ROW_INDEX_H_
