// One row to update. Kernels include this, so it is plain.
#ifndef MILLRACE_EMBEDDING_ROWS_ROW_UPDATE_H_
#define MILLRACE_EMBEDDING_ROWS_ROW_UPDATE_H_

namespace millrace {

// One row, as float32 numbers. Nothing overlaps.
struct RowUpdate {
  float* weights = nullptr;         // [dim]
  float* slots = nullptr;           // the slots one after the other, in the order of slots(dim)
  const float* gradient = nullptr;  // [dim]: complete, summed over the whole step
};

}  // namespace millrace

#endif  // MILLRACE_EMBEDDING_ROWS_ROW_UPDATE_H_
