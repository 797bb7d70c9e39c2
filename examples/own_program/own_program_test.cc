#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <string>

#include "tests/e2e/program_test.h"

namespace millrace {
namespace {

using ::testing::AllOf;
using ::testing::EndsWith;
using ::testing::HasSubstr;

class OwnProgramTest : public ProgramTest {
 protected:
  ProgramResult run(const std::string& config) {
    write("job.textproto", config);
    const std::string program =
        std::filesystem::absolute("examples/own_program/own_program").string();
    return run_program({program, "job.textproto"}, {.directory = path("")});
  }
};

// Returns the configuration of a job of two epochs of four steps with this schedule.
std::string job_with(const std::string& schedule) {
  return R"(
    train {
      optimizer { learning_rate: 0.004 adam {} schedule { unit: EPOCHS )" +
         schedule + R"( } }
      generated_data { directory: "data" rows: 200 eval_rows: 50 }
      train_data { batch_size: 50 }
      feature { name: "label" kind: LABEL }
      feature { name: "i{1..13}" kind: DENSE default_value: 0 }
      feature { name: "c{1..26}" }
      table { name: "c{1..26}" dim: 4 }
      model { name: "deepfm" }
      max_epochs: 2
    }
    run { output_dir: "out" })";
}

TEST_F(OwnProgramTest, TrainsWithItsHookAndItsSchedule) {
  const ProgramResult result = run(job_with("custom { name: 'halving' }"));
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.out, AllOf(HasSubstr("step 8  "), HasSubstr("  loss "),
                                HasSubstr("  dense rate 0.001"), EndsWith("\nsteps 8\n")));
  EXPECT_TRUE(exists("out/events.jsonl"));
  EXPECT_NE(newest_checkpoint("out"), "");
}

TEST_F(OwnProgramTest, SaysWhichSchedulesThereAre) {
  const ProgramResult result = run(job_with("custom { name: 'halvings' }"));
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_THAT(result.err, AllOf(HasSubstr("halvings"), HasSubstr("did you mean \"halving\"")));
}

TEST_F(OwnProgramTest, SaysWhatIsWrongWithTheConfiguration) {
  const ProgramResult result = run("train { model { name: 1 } }");
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_THAT(result.err, HasSubstr("job.textproto:1:"));
}

}  // namespace
}  // namespace millrace
