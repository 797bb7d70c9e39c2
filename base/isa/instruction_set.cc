#include "base/isa/instruction_set.h"

namespace millrace {
namespace {

InstructionSet detect() {
  // The builtins also check that the operating system saves the registers.
  __builtin_cpu_init();
  if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("bmi2")) {
    return InstructionSet::kBaseline;
  }
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") &&
      __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq")) {
    return InstructionSet::kAvx512;
  }
  return InstructionSet::kAvx2;
}

}  // namespace

const char* name_of(InstructionSet set) {
  switch (set) {
    case InstructionSet::kBaseline: return "baseline";
    case InstructionSet::kAvx2: return "avx2";
    case InstructionSet::kAvx512: break;
  }
  return "avx512";
}

InstructionSet best_instruction_set() {
  static const InstructionSet best = detect();
  return best;
}

bool has_instruction_set(InstructionSet set) { return set <= best_instruction_set(); }

}  // namespace millrace
