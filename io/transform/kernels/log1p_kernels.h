// The logarithm of whole columns, for each instruction set. Kernels include this, so it is plain.
#ifndef MILLRACE_IO_TRANSFORM_LOG1P_KERNELS_H_
#define MILLRACE_IO_TRANSFORM_LOG1P_KERNELS_H_

#include <cstdint>

#include "base/isa/instruction_set.h"

namespace millrace {

// numbers[i] = ln(1 + numbers[i]), below 0 -ln(1 - numbers[i]), within 2 units in the last place of
// a double; the same bits on every machine, unlike the C library's. With u = 1 + x, rounded, and
// u = 2^k m, m in [sqrt(1/2), sqrt(2)):
//   ln(1 + x) = k ln 2 + 2 artanh((m - 1) / (m + 1)) + (1 + x - u) / u,
// artanh by its Taylor series. REQUIRES: all are finite.
using SignedLog1p = void (*)(double* numbers, int64_t count);

// REQUIRES: has_instruction_set(set).
SignedLog1p signed_log1p_kernel(InstructionSet set);

// The kernels to choose from.
namespace baseline {
void signed_log1p(double* numbers, int64_t count);
}
namespace avx2 {
void signed_log1p(double* numbers, int64_t count);
}
namespace avx512 {
void signed_log1p(double* numbers, int64_t count);
}

}  // namespace millrace

#endif  // MILLRACE_IO_TRANSFORM_LOG1P_KERNELS_H_
