// The loops of Initializer, for each instruction set. Kernels include this, so it is plain.
#ifndef MILLRACE_EMBEDDING_ROWS_INITIALIZER_KERNELS_H_
#define MILLRACE_EMBEDDING_ROWS_INITIALIZER_KERNELS_H_

#include <cstdint>

#include "base/isa/instruction_set.h"

namespace millrace {

// With u = uniform24(bits) and p = from + width × (bits + ½) / 2³², for the bits of each column
// (embedding/rows/initializer.h), a column is, in double and rounded once,
//   uniform: offset + scale × u
//   normal:  offset + scale × standard_normal_quantile(p), but not outside [lowest, highest]
struct InitializerNumbers {
  uint64_t key = 0;
  double offset = 0;
  double scale = 0;
  double from = 0;
  double width = 1;
  double lowest = -__builtin_inf();
  double highest = __builtin_inf();
};

using FillRow = void (*)(const InitializerNumbers& numbers, int64_t id, float* row, int64_t dim);

struct InitializerKernels {
  FillRow uniform;
  FillRow normal;
};

// REQUIRES: has_instruction_set(set).
const InitializerKernels& initializer_kernels(InstructionSet set);

// The tables it chooses from.
namespace baseline {
extern const InitializerKernels kInitializerKernels;
}
namespace avx2 {
extern const InitializerKernels kInitializerKernels;
}
namespace avx512 {
extern const InitializerKernels kInitializerKernels;
}

}  // namespace millrace

#endif  // MILLRACE_EMBEDDING_ROWS_INITIALIZER_KERNELS_H_
