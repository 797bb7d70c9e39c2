// The choice among kernels that were compiled for each instruction set.
#ifndef MILLRACE_BASE_ISA_INSTRUCTION_SET_CHOICE_H_
#define MILLRACE_BASE_ISA_INSTRUCTION_SET_CHOICE_H_

#include "base/isa/instruction_set.h"

namespace millrace {

// Returns the argument for `set`. Kernels must not include this header: they include only plain
// headers (//bazel:isa_kernels.bzl).
template <typename T>
const T& choose(InstructionSet set, const T& baseline, const T& avx2, const T& avx512) {
  switch (set) {
    case InstructionSet::kBaseline: break;
    case InstructionSet::kAvx2: return avx2;
    case InstructionSet::kAvx512: return avx512;
  }
  return baseline;
}

}  // namespace millrace

#endif  // MILLRACE_BASE_ISA_INSTRUCTION_SET_CHOICE_H_
