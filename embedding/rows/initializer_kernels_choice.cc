#include "base/isa/instruction_set_choice.h"
#include "embedding/rows/initializer_kernels.h"

namespace millrace {

const InitializerKernels& initializer_kernels(InstructionSet set) {
  return choose(set, baseline::kInitializerKernels, avx2::kInitializerKernels,
                avx512::kInitializerKernels);
}

}  // namespace millrace
