#include "embedding/initializer_kernels.h"

namespace millrace {

const InitializerKernels& initializer_kernels(InstructionSet set) {
  switch (set) {
    case InstructionSet::kBaseline:
      return baseline::kInitializerKernels;
    case InstructionSet::kAvx2:
      return avx2::kInitializerKernels;
    case InstructionSet::kAvx512:
      break;
  }
  return avx512::kInitializerKernels;
}

}  // namespace millrace
