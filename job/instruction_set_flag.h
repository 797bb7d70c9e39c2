// The instruction set that a user chose.
#ifndef MILLRACE_JOB_INSTRUCTION_SET_FLAG_H_
#define MILLRACE_JOB_INSTRUCTION_SET_FLAG_H_

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "base/isa/instruction_set.h"
#include "proto/config.pb.h"

namespace millrace {

// Parses the value of --instruction_set: auto, baseline, avx2 or avx512. Errors: InvalidArgument
// with these names.
absl::StatusOr<RunConfig::InstructionSet> parse_instruction_set(absl::string_view name);

// Returns the instruction set of run.instruction_set on a machine whose best is `best`.
// Errors: InvalidArgument for an instruction set that the machine lacks.
absl::StatusOr<InstructionSet> chosen_instruction_set(RunConfig::InstructionSet choice,
                                                      InstructionSet best = best_instruction_set());

}  // namespace millrace

#endif  // MILLRACE_JOB_INSTRUCTION_SET_FLAG_H_
