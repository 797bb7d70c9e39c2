#include "optim/row_kernels.h"

namespace millrace {

const RowKernels& row_kernels(InstructionSet set) {
  switch (set) {
    case InstructionSet::kBaseline:
      return baseline::kRowKernels;
    case InstructionSet::kAvx2:
      return avx2::kRowKernels;
    case InstructionSet::kAvx512:
      break;
  }
  return avx512::kRowKernels;
}

}  // namespace millrace
