// All parts of this job in one configuration.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <string>

#include "tests/e2e/program_test.h"

namespace millrace {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

class OwnPartsTest : public ProgramTest {
 protected:
  ProgramResult run(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(),
                     std::filesystem::absolute("examples/own_job/own_job").string());
    arguments.insert(arguments.end(), {"--output_dir", path("out")});
    return run_program(arguments, {.directory = std::filesystem::current_path()});
  }

  ProgramResult train(const std::vector<std::string>& changes = {}) {
    std::vector<std::string> arguments = {"train", "examples/own_job/own_parts.textproto"};
    for (const std::string& change : changes) {
      arguments.push_back("--set");
      arguments.push_back(change);
    }
    return run(arguments);
  }

  // Returns what is printed when the configuration with this change is refused.
  std::string refusal(const std::string& change) {
    const ProgramResult result = train({change});
    EXPECT_EQ(result.exit_code, 64) << change;
    return result.err;
  }
};

TEST_F(OwnPartsTest, AJobTrainsWithPartsOfItsOwn) {
  const ProgramResult result = train();
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.err, HasSubstr("hit_rate"));
  EXPECT_NE(newest_checkpoint("out"), "");
}

TEST_F(OwnPartsTest, WrongNumbersAreReportedWithTheName) {
  EXPECT_THAT(refusal("train.sparse_optimizer.custom.[millrace.lion].beta1=1"),
              AllOf(HasSubstr("row optimizer \"lion\""), HasSubstr("beta1 and beta2 must be")));
  EXPECT_THAT(refusal("train.sparse_optimizer.schedule.custom.[millrace.square_wave].period=0"),
              AllOf(HasSubstr("schedule \"square_wave\""), HasSubstr("period must be above 0")));
  EXPECT_THAT(refusal("train.task[0].custom.[millrace.quantile].quantile=1"),
              AllOf(HasSubstr("loss \"quantile\""), HasSubstr("quantile must be above 0")));
  EXPECT_THAT(refusal("train.custom_metric[0].[millrace.hit_rate].tolerance=-1"),
              AllOf(HasSubstr("metric \"hit_rate\""), HasSubstr("tolerance must be")));
  EXPECT_THAT(refusal("train.train_step.custom.[millrace.gradient_noise].stddev=-1"),
              AllOf(HasSubstr("train step \"gradient_noise\""), HasSubstr("stddev must be")));
}

TEST_F(OwnPartsTest, WrongNamesAreReportedWithTheirPlace) {
  EXPECT_THAT(refusal("train.sparse_optimizer.custom.name=lyon"),
              AllOf(HasSubstr("sparse_optimizer.custom"), HasSubstr("did you mean \"lion\"?")));
  EXPECT_THAT(refusal("train.sparse_optimizer.custom.name=adam"),
              HasSubstr("the row optimizer \"adam\" is built in: write adam { … }"));
  EXPECT_THAT(refusal("train.sparse_optimizer.schedule.custom.name=square"),
              HasSubstr("no schedule \"square\""));
  EXPECT_THAT(refusal("train.task[0].custom.name=quantil"),
              HasSubstr("did you mean \"quantile\"?"));
  EXPECT_THAT(refusal("train.feature[1].transform[0].custom.name=square_rot"),
              HasSubstr("did you mean \"square_root\"?"));
  EXPECT_THAT(refusal("train.train_step.custom.name=noise"), HasSubstr("no train step \"noise\""));
  EXPECT_THAT(refusal("train.train_data.custom_format.name=json"),
              AllOf(HasSubstr("train.train_data.custom_format"), HasSubstr("json_lines")));
  EXPECT_THAT(refusal("train.train_data.custom_format.name=orc"),
              HasSubstr("write format: ORC instead"));
  EXPECT_THAT(refusal("train.train_data.format=CSV"), HasSubstr("remove format"));
  EXPECT_THAT(
      refusal("train.sparse_optimizer.custom.[millrace.quantile].quantile=0.5"),
      HasSubstr("train.sparse_optimizer.custom: [millrace.quantile] is not the message of"));
  EXPECT_THAT(refusal("train.train_data.custom_format.[millrace.lion].beta1=0.5"),
              HasSubstr("train.train_data.custom_format: [millrace.lion] is not the message of"));
  EXPECT_THAT(refusal("train.custom_metric[0].name=auc"), HasSubstr("no list of metrics names it"));
}

TEST_F(OwnPartsTest, ListsThePartsOfTheProgram) {
  const ProgramResult all =
      run_program({std::filesystem::absolute("examples/own_job/own_job").string(), "list"});
  EXPECT_EQ(all.exit_code, 0) << all.err;
  for (const char* name :
       {"gradient_noise", "hit_rate", "json_lines", "lion", "one_layer", "quantile", "square_root",
        "square_wave", "target_metric", "rowwise_adagrad", "inverse_square_root"}) {
    EXPECT_THAT(all.out, HasSubstr(name));
  }
}

}  // namespace
}  // namespace millrace
