// The loops of Initializer, one version per instruction set. Kernels include this file, so its
// includes are restricted (see //bazel:isa_kernels.bzl).
#ifndef MILLRACE_EMBEDDING_ROWS_INITIALIZER_KERNELS_H_
#define MILLRACE_EMBEDDING_ROWS_INITIALIZER_KERNELS_H_

#include <cstdint>

#include "base/isa/instruction_set.h"

namespace millrace {

// The parameters of a column's value, in float64, rounded once to float32. With u = uniform24(bits)
// and p = from + width × (bits + ½) / 2³² for the bits of the column
// (embedding/rows/initializer.h):
//   uniform: offset + scale × u
//   normal:  offset + scale × standard_normal_quantile(p), clamped to [lowest, highest]
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

// Returns the kernels for `set`. REQUIRES: has_instruction_set(set).
const InitializerKernels& initializer_kernels(InstructionSet set);

// The kernels of each instruction set, for initializer_kernels().
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
