// The loops of row optimizers, for each instruction set. Kernels include this, so it is plain.
#ifndef MILLRACE_OPTIM_ROWS_ROW_KERNELS_H_
#define MILLRACE_OPTIM_ROWS_ROW_KERNELS_H_

#include <cstdint>

#include "base/isa/instruction_set.h"
#include "embedding/rows/row_update.h"

namespace millrace {

// What the formulas need, beside rows; they stand in the headers named. Everywhere:
// g = scale × gradient + weight_decay × w, but scale × gradient where weight_decay is 0.

// optim/rows/sparse_sgd.h
struct SgdNumbers {
  float rate = 0;
  float scale = 1;
  float weight_decay = 0;
};

// optim/rows/sparse_adagrad.h, optim/rows/sparse_rowwise_adagrad.h
struct AdagradNumbers {
  float rate = 0;
  float scale = 1;
  float weight_decay = 0;
  float epsilon = 0;
};

// optim/rows/sparse_adam.h, optim/rows/sparse_adamw.h
struct AdamNumbers {
  double rate = 0;
  double beta1 = 0;
  double beta2 = 0;
  double epsilon = 0;
  int64_t step = 1;             // of the bias correction, unless each row counts its own
  bool row_steps = false;       // whether a slot [1] after the averages counts the row's steps
  bool corrects_first = false;  // whether epsilon is added to the corrected root
  float scale = 1;
  float weight_decay = 0;
  float shrinkage = 0;  // the part of w that is taken away before the step
};

// optim/rows/sparse_ftrl.h
struct FtrlNumbers {
  float rate = 0;
  float scale = 1;
  float beta = 0;
  float l1 = 0;
  float l2 = 0;
};

// Updates `count` rows of `dim` columns, in place. Rows are distinct.
struct RowKernels {
  void (*sgd)(const SgdNumbers& numbers, int64_t dim, const RowUpdate* rows, int64_t count);
  void (*adagrad)(const AdagradNumbers& numbers, int64_t dim, const RowUpdate* rows, int64_t count);
  void (*rowwise_adagrad)(const AdagradNumbers& numbers, int64_t dim, const RowUpdate* rows,
                          int64_t count);
  void (*adam)(const AdamNumbers& numbers, int64_t dim, const RowUpdate* rows, int64_t count);
  void (*ftrl)(const FtrlNumbers& numbers, int64_t dim, const RowUpdate* rows, int64_t count);
};

// REQUIRES: has_instruction_set(set).
const RowKernels& row_kernels(InstructionSet set);

// The tables it chooses from.
namespace baseline {
extern const RowKernels kRowKernels;
}
namespace avx2 {
extern const RowKernels kRowKernels;
}
namespace avx512 {
extern const RowKernels kRowKernels;
}

}  // namespace millrace

#endif  // MILLRACE_OPTIM_ROWS_ROW_KERNELS_H_
