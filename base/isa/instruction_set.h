// Which vector instructions code may use: chosen when the program runs, not when it is built.
#ifndef MILLRACE_BASE_ISA_INSTRUCTION_SET_H_
#define MILLRACE_BASE_ISA_INSTRUCTION_SET_H_

namespace millrace {

// For x86-64, each includes those before it. Kernels are compiled once for each of them
// (//bazel:isa_kernels.bzl), and all give the same results to the last bit: this is a matter of
// speed alone.
enum class InstructionSet {
  kBaseline,  // SSE2, which every x86-64 machine has
  kAvx2,      // and BMI2
  kAvx512,    // F, VL, BW and DQ
};

inline constexpr InstructionSet kInstructionSets[] = {
    InstructionSet::kBaseline, InstructionSet::kAvx2, InstructionSet::kAvx512};

// "baseline", "avx2" or "avx512".
const char* name_of(InstructionSet set);

// Whether processor and operating system can do it. Asks them once; safe from many threads.
bool has_instruction_set(InstructionSet set);

// The last one that this machine has.
InstructionSet best_instruction_set();

}  // namespace millrace

#endif  // MILLRACE_BASE_ISA_INSTRUCTION_SET_H_
