#include "base/isa/instruction_set_choice.h"
#include "io/transform/kernels/log1p_kernels.h"

namespace millrace {

SignedLog1p signed_log1p_kernel(InstructionSet set) {
  return choose(set, &baseline::signed_log1p, &avx2::signed_log1p, &avx512::signed_log1p);
}

}  // namespace millrace
