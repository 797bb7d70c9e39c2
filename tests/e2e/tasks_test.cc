// Tests several labels, some of which are missing in some examples: training, resumes, ranks,
// evaluation, predictions, errors.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "tests/e2e/program_test.h"

namespace millrace {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using Json = nlohmann::json;

constexpr int kRows = 600;

// 24 steps on one rank. Two of three examples lack a rating.
constexpr char kJob[] = R"(
train {
  train_data { path: "data.csv" batch_size: 25 shuffle_rows: 600 }
  eval_data { data { path: "data.csv" batch_size: 40 } }
  feature { name: "click" kind: LABEL }
  feature { name: "rating" kind: LABEL missing: MASK }
  feature { name: "user" kind: GROUP_ID }
  feature { name: "row" kind: EXAMPLE_ID }
  feature { name: "i{1..2}" kind: DENSE }
  model { name: "mlp" [millrace.mlp] { hidden: [4] } }
  task { label: "rating" weight: 0.5 huber { delta: 2 } }
  binary_labels: false
  metric: "auc"
  metric: "mean"
}
run {
  threads: 1
  output_dir: "out"
  report { when { every_steps: 10 at_end: true } }
  distributed { rendezvous_timeout_seconds: 20 collective_timeout_seconds: 10 }
}
)";

constexpr char kRatingTask[] = "{label: 'rating' huber {}}";

class TasksTest : public ProgramTest {
 protected:
  TasksTest() {
    write("job.textproto", kJob);
    std::string rows = "click,rating,user,row,i1,i2\n";
    for (int row = 0; row < kRows; ++row) {
      const double a = row * 37 % 101 / 50.0 - 1, b = row * 53 % 97 / 48.0 - 1;
      const std::string rating = row % 3 == 0 ? absl::StrCat(2 * a - b) : row % 3 == 1 ? "" : "nan";
      absl::StrAppend(&rows, a + 0.3 * b > 0 ? 1 : 0, ",", rating, ",", row / 6, ",", row, ",", a,
                      ",", b, "\n");
    }
    write("data.csv", rows);
  }

  Json evaluate(std::vector<std::string> launch, std::vector<std::string> flags) const {
    launch.insert(launch.end(), {"evaluate", "job.textproto", "--checkpoint", "out", "--summary",
                                 "evaluated.json", "--overwrite"});
    launch.insert(launch.end(), flags.begin(), flags.end());
    millrace_ok(launch);
    return read_json("evaluated.json")["eval"];
  }

  // Expects that `config check` and `train` refuse the job with these overrides.
  void expect_refused(const std::vector<std::string>& overrides, const std::string& what) const {
    for (std::vector<std::string> command :
         {std::vector<std::string>{"config", "check"}, {"train"}}) {
      command.push_back("job.textproto");
      for (const std::string& each : overrides) command.insert(command.end(), {"--set", each});
      const ProgramResult result = millrace(command);
      EXPECT_EQ(result.exit_code, kUsage) << result.err;
      EXPECT_THAT(result.last_error(), HasSubstr(what));
      EXPECT_FALSE(exists("out"));
    }
  }
};

TEST_F(TasksTest, EachTaskHasItsLossAndMetrics) {
  millrace_ok({"train", "job.textproto"});
  const Json eval = read_json("out/summary.json")["eval"];
  EXPECT_GT(eval["click/auc"].get<double>(), 0.6);
  EXPECT_TRUE(eval["rating/mean"].is_number());
  EXPECT_GT(eval["rating/loss"].get<double>(), 0);
  EXPECT_NEAR(eval["loss"].get<double>(),
              eval["click/loss"].get<double>() + eval["rating/loss"].get<double>(), 1e-9);
}

TEST_F(TasksTest, EvaluationDependsOnNeitherBatchesNorRanks) {
  millrace_ok({"train", "job.textproto"});
  const Json whole = evaluate({}, {});
  const Json small = evaluate({}, {"--set", "train.eval_data[0].data.batch_size=7"});
  const Json ranks = evaluate({"launch", "-n", "2", "--"}, {});
  for (const auto& [name, value] : whole.items()) {
    if (!value.is_number()) continue;
    EXPECT_NEAR(small[name].get<double>(), value.get<double>(), 1e-6) << name;
    EXPECT_NEAR(ranks[name].get<double>(), value.get<double>(), 1e-6) << name;
  }
}

TEST_F(TasksTest, AResumedRunEqualsAWholeOne) {
  for (const char* ranks : {"1", "2"}) {
    const auto train = [&](const std::string& to, std::vector<std::string> flags) {
      std::vector<std::string> command = {"launch",        "-n",           ranks, "--", "train",
                                          "job.textproto", "--output_dir", to};
      command.insert(command.end(), flags.begin(), flags.end());
      millrace_ok(command);
    };
    const std::string whole = absl::StrCat("whole", ranks), parts = absl::StrCat("parts", ranks);
    train(whole, {});
    train(parts, {"--max_steps", "7"});
    train(parts, {});
    EXPECT_EQ(content_of(parts), content_of(whole)) << ranks << " ranks";
    EXPECT_EQ(read_json(parts + "/summary.json")["eval"]["loss"],
              read_json(whole + "/summary.json")["eval"]["loss"]);
  }
}

TEST_F(TasksTest, PredictionsOfBothAndMissingLabelsAreNull) {
  millrace_ok({"train", "job.textproto"});
  millrace_ok({"predict", "job.textproto", "--checkpoint", "out", "--output", "out.csv"});
  const std::vector<std::string> lines = absl::StrSplit(read("out.csv"), '\n');
  ASSERT_EQ(lines.size(), kRows + 2u);
  EXPECT_EQ(lines[0], "example_id,group_id,click_prediction,rating_prediction,click,rating");
  for (int row = 0; row < 6; ++row) {
    const std::vector<std::string> cells = absl::StrSplit(lines[static_cast<size_t>(row) + 1], ',');
    ASSERT_EQ(cells.size(), 6u) << lines[static_cast<size_t>(row) + 1];
    EXPECT_EQ(cells[0], absl::StrCat(row));
    EXPECT_NE(cells[3], "");
    EXPECT_NE(cells[4], "");
    EXPECT_EQ(cells[5] == "", row % 3 != 0) << cells[5];
  }
}

TEST_F(TasksTest, LossesOverGroups) {
  for (const std::string& loss : {std::string("pairwise"), std::string("softmax")}) {
    const std::vector<std::string> flags = {
        "--set", absl::StrCat("train.task=[{label: 'click' ", loss, " {}}, ", kRatingTask, "]"),
        "--set", "train.train_data.shuffle_rows=0"};
    std::vector<std::string> command = {"train", "job.textproto", "--output_dir", loss};
    command.insert(command.end(), flags.begin(), flags.end());
    millrace_ok(command);
    const Json eval = read_json(loss + "/summary.json")["eval"];
    EXPECT_GT(eval["click/auc"].get<double>(), 0.6) << loss;
    command = {"export", "job.textproto", "--checkpoint", loss, "--output", loss + ".pt"};
    command.insert(command.end(), flags.begin(), flags.end());
    millrace_ok(command);
  }
}

TEST_F(TasksTest, WithoutMaskAMissingLabelIsBadData) {
  const ProgramResult result =
      millrace({"train", "job.textproto", "--set", "train.feature[1].missing=DEFAULT"});
  EXPECT_EQ(result.exit_code, kBadData);
  EXPECT_THAT(result.last_error(), HasSubstr("column rating"));
}

TEST_F(TasksTest, LabelsAreCheckedByTheLossOfTheirTask) {
  std::string rows = "click,rating,user,row,i1,i2\n";
  for (int row = 0; row < 50; ++row) absl::StrAppend(&rows, "3,-7,0,", row, ",0.5,0.5\n");
  write("data.csv", rows);
  const ProgramResult result = millrace({"train", "job.textproto"});
  EXPECT_EQ(result.exit_code, kBadData);
  EXPECT_THAT(result.last_error(), AllOf(HasSubstr("column click"), HasSubstr("label 3")));
  // Such labels are valid as grades.
  millrace_ok({"train", "job.textproto", "--set",
               absl::StrCat("train.task=[{label: 'click' softmax {}}, ", kRatingTask, "]")});
}

TEST_F(TasksTest, MistakesAreFoundBeforeTraining) {
  expect_refused({"train.task[0].label='raiting'"}, "did you mean \"rating\"?");
  expect_refused({"train.task=[{huber {}}]"}, "label is missing; there are 2: click, rating");
  expect_refused({"train.task=[{label: 'click'}, {label: 'click'}]"}, "has a task before it");
  expect_refused({"train.task[0].weight=0"}, "weight is 0");
  expect_refused({"train.task[0].huber.delta=-1"}, "delta is -1");
  expect_refused({"train.binary_labels=true"}, "binary_labels: false");
  expect_refused({"train.metric=[]"}, "huber predicts no probabilities");
  expect_refused({"train.feature[2].missing=MASK"}, "missing is MASK");
  expect_refused({"train.feature[1].default_value=0"}, "default_value is set too");
  expect_refused({"train.feature[2].kind=DENSE",
                  absl::StrCat("train.task=[{label: 'click' pairwise {}}, ", kRatingTask, "]")},
                 "GROUP_ID");
}

}  // namespace
}  // namespace millrace
