// Tests the report of the program about the data, and data unlike the description.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/status_matchers.h"
#include "tests/e2e/program_test.h"
#include "tests/e2e/small_job.h"

namespace millrace {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using Json = nlohmann::json;

SmallJob job() {
  return {.train_path = "in/**/*.csv", .eval_path = "in/a.csv", .batch_size = 10, .dense = {"day"}};
}

class DataSetsTest : public ProgramTest {
 protected:
  DataSetsTest() {
    write("job.textproto", small_job(job()));
    std::filesystem::create_directories(path("in/deep/er"));
    write_rows("in/a.csv", 20);
    write_rows("in/deep/b.csv", 20);
    write_rows("in/deep/er/c.csv", 20);
  }

  // Writes days 0 to `rows` - 1.
  void write_rows(const std::string& name, int64_t rows) const {
    std::string text = "label,day,c1\n";
    for (int64_t row = 0; row < rows; ++row) {
      absl::StrAppend(&text, row % 3 == 0, ",", row, ",", row % 7, "\n");
    }
    write(name, text);
  }

  ProgramResult train(std::vector<std::string> flags) const {
    flags.insert(flags.begin(), {"train", "job.textproto"});
    return millrace(std::move(flags));
  }
  void train_refused(std::vector<std::string> flags, int code, const std::string& what) const {
    const ProgramResult result = train(std::move(flags));
    EXPECT_EQ(result.exit_code, code) << result.err;
    EXPECT_THAT(result.last_error(), HasSubstr(what));
    EXPECT_FALSE(exists("out"));
  }
};

TEST_F(DataSetsTest, TheStartSaysHowManyFilesAndRowsEachSetHas) {
  const ProgramResult result = train({});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.err, HasSubstr("train_data: 3 files, 60 rows\n"));
  EXPECT_THAT(result.err, HasSubstr("eval_data \"eval\": 1 file, 20 rows\n"));
  const Json summary = read_json("out/summary.json");
  EXPECT_EQ(summary["examples"], 60) << "** goes to any depth";
  EXPECT_EQ(summary["data"]["train_data"]["files"], 3);
  EXPECT_EQ(summary["data"]["eval_data \"eval\""]["rows"], 20);
  EXPECT_THAT(millrace_ok({"evaluate", "job.textproto", "--checkpoint", "out"}).err,
              HasSubstr("eval_data \"eval\": 1 file, 20 rows\n"));
  const std::string deep = read("in/deep/b.csv");
  EXPECT_NE(millrace({"predict", "job.textproto", "--checkpoint", "out", "--overwrite", "--output",
                      "in/deep/b.csv"})
                .exit_code,
            0);
  EXPECT_EQ(read("in/deep/b.csv"), deep) << "what ** matches is an input too";
  std::filesystem::remove_all(path("out"));
  train_refused({"--train_data", "in/b**.csv"}, kUsage, "must be a whole part of the path");
}

TEST_F(DataSetsTest, FilesThatAreLeftOutAreNamed) {
  write("in/deep/b.csv", "no,such,columns\n1,2,3\n");
  const ProgramResult result =
      train({"--train_data", "in/**/*.csv,in/gone.csv", "--set", "train.train_data.bad_data=SKIP",
             "--set", "train.train_data.max_bad_fraction=0.5"});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.err, HasSubstr("train_data: 4 files, 40 rows; 2 files left out as bad data: "
                                    "in/deep/b.csv, in/gone.csv\n"));
  const Json data = read_json("out/summary.json")["data"]["train_data"];
  EXPECT_EQ(data["bad_files"], 2);
  EXPECT_THAT(data["bad_file_names"].get<std::vector<std::string>>(),
              ElementsAre("in/deep/b.csv", "in/gone.csv"));
  // The run continues without the file.
  EXPECT_EQ(
      train({"--train_data", "in/**/*.csv,in/gone.csv", "--set", "train.train_data.bad_data=SKIP",
             "--set", "train.train_data.max_bad_fraction=0.5", "--set", "train.max_epochs=2"})
          .exit_code,
      0);
  EXPECT_EQ(read_json("out/summary.json")["examples"], 80);
}

TEST_F(DataSetsTest, AMissingPathIsAnErrorElse) {
  train_refused({"--train_data", "in/a.csv,in/gone.csv"}, kNoInput, "in/gone.csv");
  train_refused({"--train_data", "in/gone.csv", "--set", "train.train_data.bad_data=SKIP"},
                kNoInput, "in/gone.csv");
}

TEST_F(DataSetsTest, ASplitByOrderWithOneBoundHasNoOther) {
  const auto examples = [&](const std::string& bounds) {
    std::filesystem::remove_all(path("out"));
    const std::string split =
        absl::StrCat("train.train_data.split={by: ORDER_OF_COLUMN column: 'day' ", bounds, "}");
    const ProgramResult result = train({"--set", split});
    EXPECT_EQ(result.exit_code, 0) << result.err;
    return read_json("out/summary.json")["examples"].get<int64_t>();
  };
  EXPECT_EQ(examples("from: 5"), 3 * 15);
  EXPECT_EQ(examples("to: 5.0"), 3 * 5);
  EXPECT_EQ(examples("from: 5 to: 7"), 3 * 2);
  std::filesystem::remove_all(path("out"));
  train_refused({"--set", "train.train_data.split={by: ORDER_OF_COLUMN column: 'day'}"}, kUsage,
                "train.train_data.split: by ORDER_OF_COLUMN needs a bound; give from, to or both");
}

TEST_F(DataSetsTest, LabelsOfACrossEntropyLieBetweenZeroAndOne) {
  write("in/a.csv", "label,day,c1\n0.25,1,1\n1,2,2\n");
  const std::vector<std::string> soft = {"--train_data", "in/a.csv",
                                         "--set",        "train.binary_labels=false",
                                         "--set",        "run.evaluation.enabled=false"};
  ASSERT_EQ(train(soft).exit_code, 0);
  std::filesystem::remove_all(path("out"));
  write("in/a.csv", "label,day,c1\n1,1,1\n2,2,2\n");
  train_refused(soft, kBadData, "label 2 is outside [0, 1]");
}

TEST_F(DataSetsTest, IdsThatWereStoredAsNumbers) {
  write("in/a.csv", "label,day,c1\n0,1,7.0\n1,2,\n1,3,8.0\n");
  const std::vector<std::string> plain = {"--train_data", "in/a.csv"};
  train_refused(plain, kBadData, "the transform cast");
  std::vector<std::string> with_cast = plain;
  with_cast.insert(with_cast.end(), {"--set", "train.feature[2].transform=[{cast {}}]"});
  ASSERT_EQ(train(with_cast).exit_code, 0);
  EXPECT_EQ(read_json("out/summary.json")["rows"]["c1"], 2);
  std::filesystem::remove_all(path("out"));
  write("in/a.csv", "label,day,c1\n0,1,7.0\n1,2,\n1,3,8.5\n");
  train_refused(with_cast, kBadData, "8.5 is no integer below 2^53");
}

TEST_F(DataSetsTest, TextOfAnotherDelimiterNamesIt) {
  write("in/a.csv", "label;day;c1\n0;1;7\n");
  train_refused({"--train_data", "in/a.csv"}, kUsage, "set csv { delimiter: \";\" }");
}

TEST_F(DataSetsTest, ConfigurationsInOtherLanguages) {
  const auto refused = [&](const std::string& text, const std::string& what) {
    write("other.textproto", text);
    const ProgramResult result = millrace({"config", "check", "other.textproto"});
    EXPECT_EQ(result.exit_code, kUsage);
    EXPECT_THAT(result.last_error(), HasSubstr(what));
  };
  refused("{ \"train\": { \"seed\": 3 } }", "this looks like JSON");
  refused("train:\n  seed: 3\n", "this looks like YAML");
  refused("// my job\ntrain { seed: 3 }\n", "comments begin with #");
  write("mark.textproto", absl::StrCat("\xEF\xBB\xBF", small_job(job())));
  millrace_ok({"config", "check", "mark.textproto"});
}

// A job with a fixed evaluation set, followed by a set in windows.
class PairedSetsTest : public DataSetsTest {
 protected:
  PairedSetsTest() {
    SmallJob paired = job();
    paired.train_data = "windows {}";
    paired.train =
        "eval_data { name: \"late\" data { format: CSV "
        "windows { directory { path: \"late\" } } } }";
    write("job.textproto", small_job(paired));
    std::filesystem::create_directories(path("late"));
    for (const char* name : {"late/0.csv", "late/1.csv", "late/2.csv"}) write_rows(name, 10);
    write("late/_END", "");
  }
};

TEST_F(PairedSetsTest, EvaluateAndPredictTakeTheWindowsThatAreReady) {
  ASSERT_EQ(train({}).exit_code, 0);
  const ProgramResult evaluated =
      millrace({"evaluate", "job.textproto", "--checkpoint", "out", "--summary", "evaluated.json"});
  ASSERT_EQ(evaluated.exit_code, 0) << evaluated.err;
  const Json metrics = read_json("evaluated.json")["eval"];
  EXPECT_TRUE(metrics.contains("auc"));
  EXPECT_TRUE(metrics.contains("late/auc"));
  EXPECT_THAT(evaluated.out, HasSubstr("examples 30"));
  EXPECT_THAT(millrace({"evaluate", "job.textproto", "--checkpoint", "out", "--set",
                        "train.max_evaluation_windows=2"})
                  .out,
              HasSubstr("examples 20"));
  const ProgramResult predicted =
      millrace({"predict", "job.textproto", "--checkpoint", "out", "--output", "p.csv"});
  ASSERT_EQ(predicted.exit_code, 0) << predicted.err;
  EXPECT_THAT(predicted.out, HasSubstr("predictions: 50 examples"));
  EXPECT_THAT(read("p.csv"), HasSubstr("\nlate,"));
}

TEST_F(PairedSetsTest, EvaluationsThatAreDisabledIncludePairedOnes) {
  const ProgramResult result = train({"--set", "run.evaluation.enabled=false"});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(read_json("out/summary.json")["eval"], Json::object());
  EXPECT_EQ(read_json("out/summary.json")["examples"], 60);
  std::filesystem::remove_all(path("out"));
  train_refused({"--set", "run.evaluation.enabled=false", "--set",
                 "run.checkpoint.keep_best=[{metric: 'late/auc'}]"},
                kUsage, "run.evaluation.enabled is false");
  train_refused({"--set", "run.report.when={at_start: true}"}, kUsage,
                "nothing to report at the start");
}

}  // namespace
}  // namespace millrace
