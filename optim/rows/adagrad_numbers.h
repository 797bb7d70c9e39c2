// Numbers that both kinds of Adagrad need. Kernels include this, so it is plain.
#ifndef MILLRACE_OPTIM_ROWS_ADAGRAD_NUMBERS_H_
#define MILLRACE_OPTIM_ROWS_ADAGRAD_NUMBERS_H_

namespace millrace {

// The formulas are those of optim/rows/sparse_adagrad.h and optim/rows/sparse_rowwise_adagrad.h.
struct AdagradNumbers {
  float rate = 0;
  float scale = 1;
  float weight_decay = 0;
  float epsilon = 0;
};

}  // namespace millrace

#endif  // MILLRACE_OPTIM_ROWS_ADAGRAD_NUMBERS_H_
