#include "base/isa/instruction_set_choice.h"
#include "optim/rows/row_kernels.h"

namespace millrace {

const RowKernels& row_kernels(InstructionSet set) {
  return choose(set, baseline::kRowKernels, avx2::kRowKernels, avx512::kRowKernels);
}

}  // namespace millrace
