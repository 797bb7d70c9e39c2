// Tests all parts of this job in one configuration.
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

  // Trains on a file of this test instead of the file of the configuration.
  ProgramResult train_on(const std::string& name, const std::vector<std::string>& changes = {}) {
    std::vector<std::string> arguments = {"train", "examples/own_job/own_parts.textproto",
                                          "--train_data", path(name)};
    for (const std::string& change : changes) {
      arguments.push_back("--set");
      arguments.push_back(change);
    }
    return run(arguments);
  }

  // Returns the output of a run that refuses the configuration with this change.
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

TEST_F(OwnPartsTest, InfiniteNumbersAreRefused) {
  EXPECT_THAT(refusal("train.sparse_optimizer.custom.[millrace.lion].weight_decay=inf"),
              HasSubstr("weight_decay must be at least 0 and finite"));
  EXPECT_THAT(refusal("train.sparse_optimizer.custom.[millrace.lion].weight_decay=1e300"),
              HasSubstr("weight_decay must be at least 0 and finite"));
  EXPECT_THAT(refusal("train.train_step.custom.[millrace.gradient_noise].stddev=inf"),
              HasSubstr("stddev must be at least 0 and finite"));
}

TEST_F(OwnPartsTest, BlankLinesAreNoRows) {
  const std::string row = R"({"seconds": 1, "age": 4, "page": [3]})";
  std::string text = "\r\r\n\n";
  for (int i = 0; i < 40; ++i) text += row + (i % 2 == 0 ? "\r\r\n\r\r\r\n" : "\n");
  write("blank.jsonl", text + "\r\r");
  const ProgramResult result = train_on("blank.jsonl", {"train.max_epochs=1"});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.err, AllOf(HasSubstr("1 file, 40 rows"), HasSubstr("step 3  epoch 1/1")));
}

TEST_F(OwnPartsTest, RowGroupsHaveALimit) {
  // Rows of about 0.4 MB and 1.2 MB.
  const auto row = [](int ids) {
    std::string text = R"({"seconds": 1, "age": 4, "page": [0)";
    for (int i = 1; i < ids; ++i) text += ",1";
    return text + "]}\n";
  };
  std::string rows;
  for (int i = 0; i < 8; ++i) rows += row(200'000);
  write("rows.jsonl", rows);
  write("long.jsonl", rows + row(600'000));
  const std::vector<std::string> limit = {"train.max_epochs=1",
                                          "train.train_data.max_group_bytes=1048576"};
  const ProgramResult taken = train_on("rows.jsonl", limit);
  ASSERT_EQ(taken.exit_code, 0) << taken.err;
  EXPECT_THAT(taken.err, AllOf(HasSubstr("1 file, 8 rows"), HasSubstr("step 1  epoch 1/1")));
  const ProgramResult refused = train_on("long.jsonl", limit);
  EXPECT_EQ(refused.exit_code, kBadData);
  EXPECT_THAT(refused.err, AllOf(HasSubstr("long.jsonl"), HasSubstr("the line at byte"),
                                 HasSubstr("raise max_group_bytes")));
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
