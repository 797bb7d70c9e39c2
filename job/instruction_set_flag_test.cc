#include "job/instruction_set_flag.h"

#include "base/status_matchers.h"

namespace millrace {
namespace {

using testing::AllOf;
using testing::HasSubstr;
constexpr auto kInvalid = absl::StatusCode::kInvalidArgument;

TEST(InstructionSetFlagTest, EveryNameIsKnown) {
  EXPECT_THAT(parse_instruction_set("auto"), IsOkAndHolds(RunConfig::AUTO));
  EXPECT_THAT(parse_instruction_set("baseline"), IsOkAndHolds(RunConfig::BASELINE));
  EXPECT_THAT(parse_instruction_set("avx2"), IsOkAndHolds(RunConfig::AVX2));
  EXPECT_THAT(parse_instruction_set("avx512"), IsOkAndHolds(RunConfig::AVX512));
  EXPECT_THAT(parse_instruction_set("AVX"),
              StatusIs(kInvalid, AllOf(HasSubstr("\"AVX\""), HasSubstr("avx512"))));
}

TEST(InstructionSetFlagTest, AutoIsTheBest) {
  EXPECT_THAT(chosen_instruction_set(RunConfig::AUTO), IsOkAndHolds(best_instruction_set()));
  EXPECT_THAT(chosen_instruction_set(RunConfig::AUTO, InstructionSet::kAvx2),
              IsOkAndHolds(InstructionSet::kAvx2));
}

TEST(InstructionSetFlagTest, OneThatIsThereCanBeChosen) {
  constexpr InstructionSet best = InstructionSet::kAvx512;
  EXPECT_THAT(chosen_instruction_set(RunConfig::BASELINE, best),
              IsOkAndHolds(InstructionSet::kBaseline));
  EXPECT_THAT(chosen_instruction_set(RunConfig::AVX2, best), IsOkAndHolds(InstructionSet::kAvx2));
  EXPECT_THAT(chosen_instruction_set(RunConfig::AVX512, best),
              IsOkAndHolds(InstructionSet::kAvx512));
}

TEST(InstructionSetFlagTest, RefusesWhatTheMachineLacks) {
  EXPECT_THAT(chosen_instruction_set(RunConfig::AVX512, InstructionSet::kAvx2),
              StatusIs(kInvalid, AllOf(HasSubstr("avx512"), HasSubstr("no more than avx2"))));
  EXPECT_THAT(chosen_instruction_set(RunConfig::AVX2, InstructionSet::kBaseline),
              StatusIs(kInvalid, HasSubstr("no more than baseline")));
}

}  // namespace
}  // namespace millrace
