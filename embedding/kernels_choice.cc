#include "embedding/kernels.h"

namespace millrace {

const Kernels& kernels(InstructionSet set) {
  switch (set) {
    case InstructionSet::kBaseline: break;
    case InstructionSet::kAvx2: return avx2::kKernels;
    case InstructionSet::kAvx512: return avx512::kKernels;
  }
  return baseline::kKernels;
}

}  // namespace millrace
