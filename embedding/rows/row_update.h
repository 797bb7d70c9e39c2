// The update of one row. Kernels include this file, so its includes are restricted (see
// //bazel:isa_kernels.bzl).
#ifndef MILLRACE_EMBEDDING_ROWS_ROW_UPDATE_H_
#define MILLRACE_EMBEDDING_ROWS_ROW_UPDATE_H_

namespace millrace {

// One row as float32 numbers. The arrays do not overlap.
struct RowUpdate {
  float* weights = nullptr;         // [dim]
  float* slots = nullptr;           // all slots, in the order of slots(dim)
  const float* gradient = nullptr;  // [dim]: complete, summed over the whole step
};

}  // namespace millrace

#endif  // MILLRACE_EMBEDDING_ROWS_ROW_UPDATE_H_
