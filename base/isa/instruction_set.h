// The vector instructions that code may use, chosen when the program runs and not when it is built.
#ifndef MILLRACE_BASE_ISA_INSTRUCTION_SET_H_
#define MILLRACE_BASE_ISA_INSTRUCTION_SET_H_

namespace millrace {

// Instruction sets of x86-64; each includes all earlier ones. Kernels are compiled once per
// instruction set (//bazel:isa_kernels.bzl) and give the same results to the last bit, so that the
// choice affects only speed.
enum class InstructionSet {
  kBaseline,  // SSE2, which every x86-64 machine has
  kAvx2,      // and BMI2
  kAvx512,    // F, VL, BW and DQ
};

inline constexpr InstructionSet kInstructionSets[] = {
    InstructionSet::kBaseline, InstructionSet::kAvx2, InstructionSet::kAvx512};

// Returns "baseline", "avx2" or "avx512".
const char* name_of(InstructionSet set);

// Returns true if processor and operating system support the set. Detects this once. Thread-safe.
bool has_instruction_set(InstructionSet set);

// Returns the last instruction set that this machine supports.
InstructionSet best_instruction_set();

}  // namespace millrace

#endif  // MILLRACE_BASE_ISA_INSTRUCTION_SET_H_
