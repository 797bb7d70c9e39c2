// Options of both kinds of Adagrad. Kernels include this header, so it includes only plain headers.
#ifndef MILLRACE_OPTIM_ROWS_ADAGRAD_NUMBERS_H_
#define MILLRACE_OPTIM_ROWS_ADAGRAD_NUMBERS_H_

namespace millrace {

// Options of the formulas in optim/rows/sparse_adagrad.h and optim/rows/sparse_rowwise_adagrad.h.
struct AdagradNumbers {
  float rate = 0;
  float scale = 1;
  float weight_decay = 0;
  float epsilon = 0;
};

}  // namespace millrace

#endif  // MILLRACE_OPTIM_ROWS_ADAGRAD_NUMBERS_H_
