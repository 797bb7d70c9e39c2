// The type of a row's weights.
#ifndef MILLRACE_EMBEDDING_ROWS_ROW_TYPE_H_
#define MILLRACE_EMBEDDING_ROWS_ROW_TYPE_H_

#include <cstdint>

namespace millrace {

// As RowDtype in proto/config.proto, for code that is compiled once per instruction set and so must
// include next to nothing.
enum class RowType { kFloat32, kFloat16, kBfloat16 };
inline constexpr int kRowTypes = 3;

// Bytes of one weight.
constexpr int64_t row_type_bytes(RowType type) { return type == RowType::kFloat32 ? 4 : 2; }

}  // namespace millrace

#endif  // MILLRACE_EMBEDDING_ROWS_ROW_TYPE_H_
