#include "base/isa/instruction_set_choice.h"
#include "embedding/id_map/id_map_kernels.h"

namespace millrace {

const IdMapKernels& id_map_kernels(InstructionSet set) {
  return choose(set, baseline::kIdMapKernels, avx2::kIdMapKernels, avx512::kIdMapKernels);
}

}  // namespace millrace
