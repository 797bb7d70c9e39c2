// The instruction set that a user chose.
#ifndef MILLRACE_JOB_INSTRUCTION_SET_CHOICE_H_
#define MILLRACE_JOB_INSTRUCTION_SET_CHOICE_H_

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "base/isa/instruction_set.h"
#include "proto/config.pb.h"

namespace millrace {

// What --instruction_set says: auto, baseline, avx2 or avx512.
// Errors: InvalidArgument that names these.
absl::StatusOr<RunConfig::InstructionSet> parse_instruction_set(absl::string_view name);

// What run.instruction_set stands for on a machine whose best is `best`.
// Errors: InvalidArgument for one that it lacks.
absl::StatusOr<InstructionSet> chosen_instruction_set(RunConfig::InstructionSet choice,
                                                      InstructionSet best = best_instruction_set());

}  // namespace millrace

#endif  // MILLRACE_JOB_INSTRUCTION_SET_CHOICE_H_
