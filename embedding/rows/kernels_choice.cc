#include "base/isa/instruction_set_choice.h"
#include "embedding/rows/kernels.h"

namespace millrace {

const Kernels& kernels(InstructionSet set) {
  return choose(set, baseline::kKernels, avx2::kKernels, avx512::kKernels);
}

}  // namespace millrace
