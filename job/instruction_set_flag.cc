#include "job/instruction_set_flag.h"

#include "absl/strings/str_cat.h"

namespace millrace {

absl::StatusOr<RunConfig::InstructionSet> parse_instruction_set(absl::string_view name) {
  if (name == "auto") return RunConfig::AUTO;
  if (name == "baseline") return RunConfig::BASELINE;
  if (name == "avx2") return RunConfig::AVX2;
  if (name == "avx512") return RunConfig::AVX512;
  return absl::InvalidArgumentError(
      absl::StrCat("\"", name, "\" is none of auto, baseline, avx2, avx512"));
}

absl::StatusOr<InstructionSet> chosen_instruction_set(RunConfig::InstructionSet choice,
                                                      InstructionSet best) {
  InstructionSet set = best;
  if (choice == RunConfig::BASELINE) set = InstructionSet::kBaseline;
  if (choice == RunConfig::AVX2) set = InstructionSet::kAvx2;
  if (choice == RunConfig::AVX512) set = InstructionSet::kAvx512;
  if (set <= best) return set;
  return absl::InvalidArgumentError(absl::StrCat(
      "instruction_set is ", name_of(set), ", but this machine has no more than ", name_of(best)));
}

}  // namespace millrace
