// The type of a row's weights.
#ifndef MILLRACE_EMBEDDING_ROWS_ROW_TYPE_H_
#define MILLRACE_EMBEDDING_ROWS_ROW_TYPE_H_

#include <cstdint>

namespace millrace {

// The types of RowDtype in proto/config.proto, for kernels, which must not include protobuf.
enum class RowType { kFloat32, kFloat16, kBfloat16 };
inline constexpr int kRowTypes = 3;

// Returns the bytes of one weight.
constexpr int64_t row_type_bytes(RowType type) { return type == RowType::kFloat32 ? 4 : 2; }

}  // namespace millrace

#endif  // MILLRACE_EMBEDDING_ROWS_ROW_TYPE_H_
