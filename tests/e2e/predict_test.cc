// Tests `millrace predict`.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/file_system.h"
#include "base/status_matchers.h"
#include "io/file_reader.h"
#include "metrics/auc.h"
#include "tests/e2e/program_test.h"
#include "tests/io_testing/data_files.h"

namespace millrace {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using Json = nlohmann::json;

constexpr int64_t kRows = 3000;
constexpr int64_t kFirstRow = 500;  // the first value of the column "row"

constexpr char kJob[] = R"(
train {
  train_data { path: "data.parquet" batch_size: 64 shuffle_rows: 1000 }
  eval_data { data { path: "data.parquet" batch_size: 200 shuffle_rows: 500
                     csv { list_delimiter: "|" } } }
  feature { name: "label" kind: LABEL }
  feature { name: "row" kind: EXAMPLE_ID }
  feature { name: "i{1..2}" kind: DENSE default_value: 0 transform { log1p {} } }
  feature { name: "c{1..2}" }
  table { name: "c{1..2}" dim: 4 }
  model { name: "deepfm" [millrace.deepfm] { hidden: [16] } }
  max_evaluation_steps: 3
}
run { output_dir: "out" threads: 1 }
)";

// The content of a file of predictions.
struct Predictions {
  std::vector<std::string> columns;
  std::vector<int64_t> ids;
  std::vector<float> predictions;
  std::vector<float> labels;
};

std::vector<float> floats(const Column& column) {
  return {column.doubles.begin(), column.doubles.end()};
}

class PredictTest : public ProgramTest {
 protected:
  // Trains once for all tests.
  static void SetUpTestSuite() {
    const std::string directory = testing::TempDir() + "/trained";
    std::filesystem::create_directory(directory);
    ASSERT_OK(write_file_atomically(FileSystem::local(), directory + "/job.textproto", kJob));
    ASSERT_OK(write_data_file(criteo_like_table(kRows, 2, 2, kFirstRow), DataConfig::PARQUET, 700,
                              directory + "/data.parquet"));
    const ProgramResult result =
        run_program({millrace_path(), "train", "job.textproto", "--max_steps", "20", "--set",
                     "run.evaluation.enabled=false"},
                    {.directory = directory});
    ASSERT_EQ(result.exit_code, 0) << result.err;
    checkpoint_ = directory + "/out";
  }

  void SetUp() override {
    table_ = criteo_like_table(kRows, 2, 2, kFirstRow);
    write_table("data", DataConfig::PARQUET);
    write("job.textproto", kJob);
  }

  // Writes the table as NAME with the format's extension. Returns the name of the file.
  std::string write_table(const std::string& name, DataConfig::Format format) const {
    const std::string file = absl::StrCat(name, extension_of(format));
    EXPECT_OK(write_data_file(table_, format, /*group_rows=*/700, path(file)));
    return file;
  }

  void drop_column(const std::string& name) {
    table_.columns.erase(
        std::find_if(table_.columns.begin(), table_.columns.end(),
                     [&](const TestColumn& column) { return column.name == name; }));
  }

  static std::vector<std::string> command(std::vector<std::string> flags) {
    flags.insert(flags.begin(), {"predict", "job.textproto", "--checkpoint", checkpoint_});
    return flags;
  }

  // Returns the predictions of a run with `flags`, written to `output`.
  Predictions predict(const std::string& output, std::vector<std::string> flags) const {
    flags.insert(flags.end(), {"--output", output});
    const ProgramResult result = millrace_ok(command(std::move(flags)));
    EXPECT_THAT(result.out, HasSubstr("examples in " + output));
    return read_predictions(output);
  }

  // Columns other than these are read by name.
  Predictions read_predictions(const std::string& name) const {
    Predictions all;
    const auto reader = open_file(FileSystem::local(), path(name), DataConfig());
    EXPECT_OK(reader.status());
    if (!reader.ok()) return all;
    std::vector<ColumnRequest> requests = {{-1, ValueType::kInt64}, {-1, ValueType::kDouble}};
    for (size_t i = 0; i < (*reader)->columns().size(); ++i) {
      const std::string& column = (*reader)->columns()[i].name;
      all.columns.push_back(column);
      const int64_t index = static_cast<int64_t>(i);
      if (column == "example_id") requests[0].column = index;
      if (column == "label_prediction") requests[1].column = index;
      if (column == "label") requests.push_back({index, ValueType::kDouble});
    }
    const std::vector<int64_t>& groups = (*reader)->group_rows();
    for (size_t group = 0; group < groups.size(); ++group) {
      const auto columns =
          (*reader)->read({static_cast<int64_t>(group), 0, groups[group]}, requests);
      EXPECT_OK(columns.status());
      all.ids.insert(all.ids.end(), (*columns)[0].int64s.begin(), (*columns)[0].int64s.end());
      for (const float value : floats((*columns)[1])) all.predictions.push_back(value);
      if (columns->size() < 3) continue;
      for (const float value : floats((*columns)[2])) all.labels.push_back(value);
    }
    return all;
  }

  void refused(std::vector<std::string> flags, int exit_code, const std::string& what) const {
    const std::vector<std::string> before = files_below(".");
    const ProgramResult result = millrace(command(std::move(flags)));
    EXPECT_EQ(result.exit_code, exit_code) << result.err;
    EXPECT_THAT(result.last_error(), HasSubstr(what));
    EXPECT_EQ(files_below("."), before) << "nothing is left behind";
  }

  TestTable table_;
  static std::string checkpoint_;
};
std::string PredictTest::checkpoint_;

TEST_F(PredictTest, AucOfThePredictionsIsThatOfEvaluate) {
  millrace_ok({"evaluate", "job.textproto", "--checkpoint", checkpoint_, "--set",
               "train.max_evaluation_steps=0", "--summary", "e.json"});
  for (const std::string output : {"p.parquet", "p.csv"}) {
    const Predictions predicted = predict(output, {"--summary", "p.json"});
    EXPECT_THAT(predicted.columns, ElementsAre("example_id", "label_prediction", "label"));
    ASSERT_EQ(predicted.ids.size(), kRows) << "all of the data, whatever limits evaluations";
    for (int64_t i = 0; i < kRows; ++i) ASSERT_EQ(predicted.ids[i], kFirstRow + i);
    AucMetric auc;
    auc.update({.predictions = predicted.predictions, .labels = predicted.labels, .weights = {}});
    EXPECT_EQ(read_json("e.json")["eval"]["auc"].get<double>(), auc.compute());
    const Json summary = read_json("p.json");
    EXPECT_EQ(summary["outcome"], "completed");
    EXPECT_EQ(summary["checkpoint"], checkpoint_ + "/checkpoints/step-00000020");
  }
}

TEST_F(PredictTest, EveryFormatOfData) {
  const Predictions expected = predict("expected.parquet", {});
  for (const auto format : {DataConfig::ORC, DataConfig::PARQUET, DataConfig::CSV}) {
    const std::string data = write_table("again", format);
    const Predictions predicted = predict("p.csv", {"--data", data});
    EXPECT_EQ(predicted.ids, expected.ids) << data;
    EXPECT_EQ(predicted.predictions, expected.predictions) << data;
    EXPECT_EQ(predicted.labels, expected.labels) << data;
  }
}

TEST_F(PredictTest, DataWithoutLabels) {
  const Predictions expected = predict("expected.parquet", {});
  drop_column("label");
  for (const auto format : {DataConfig::ORC, DataConfig::PARQUET, DataConfig::CSV}) {
    const std::string data = write_table("bare", format);
    const Predictions predicted = predict("p.parquet", {"--data", data});
    EXPECT_THAT(predicted.columns, ElementsAre("example_id", "label_prediction"));
    EXPECT_EQ(predicted.ids, expected.ids) << data;
    EXPECT_EQ(predicted.predictions, expected.predictions) << data;
  }
}

TEST_F(PredictTest, LabelsThatMissValues) {
  const Predictions expected = predict("expected.parquet", {});
  const auto label = std::find_if(table_.columns.begin(), table_.columns.end(),
                                  [](const TestColumn& column) { return column.name == "label"; });
  const auto clear = [&](int64_t row) {
    std::visit([&](auto& rows) { rows[row].clear(); }, label->rows);
  };
  for (int64_t row = 0; row < kRows; row += 3) clear(row);
  for (const auto format : {DataConfig::ORC, DataConfig::PARQUET, DataConfig::CSV}) {
    const std::string data = write_table("holes", format);
    for (const std::string output : {"p.parquet", "p.csv"}) {
      const Predictions predicted = predict(output, {"--data", data, "--overwrite"});
      EXPECT_THAT(predicted.columns, ElementsAre("example_id", "label_prediction", "label"));
      EXPECT_EQ(predicted.ids, expected.ids) << data;
      EXPECT_EQ(predicted.predictions, expected.predictions) << data;
      EXPECT_EQ(predicted.labels.size(), kRows - kRows / 3) << "the others are null";
    }
  }
  for (int64_t row = 0; row < kRows; ++row) clear(row);
  const Predictions without =
      predict("q.csv", {"--data", write_table("none", DataConfig::PARQUET)});
  EXPECT_THAT(without.columns, ElementsAre("example_id", "label_prediction", "label"));
  EXPECT_TRUE(without.labels.empty());
  EXPECT_EQ(without.predictions, expected.predictions);
}

TEST_F(PredictTest, SeveralSetsAndTheWholeOfWhatDataNames) {
  std::string job = kJob;
  job.replace(job.find("  feature"), 0,
              "eval_data { name: \"half\" data { path: \"data.parquet\" split { to: 0.5 } } }\n");
  write("more.textproto", job);
  millrace_ok({"predict", "more.textproto", "--checkpoint", checkpoint_, "--output", "p.parquet"});
  const Predictions both = read_predictions("p.parquet");
  EXPECT_THAT(both.columns, ElementsAre("set", "example_id", "label_prediction", "label"));
  EXPECT_GT(both.ids.size(), kRows + kRows / 3) << "a set keeps its split";
  EXPECT_LT(both.ids.size(), 2 * kRows);
  const Predictions all = predict("all.parquet", {"--data", "data.parquet", "--set",
                                                  "train.eval_data[0].data.split={to: 0.5}"});
  EXPECT_EQ(all.ids.size(), kRows) << "--data names all that is wanted";
}

TEST_F(PredictTest, DataMayBeRepeated) {
  const std::string other = write_table("other", DataConfig::ORC);
  const Predictions expected = predict("list.csv", {"--data", "data.parquet," + other});
  EXPECT_EQ(expected.ids.size(), 2 * kRows);
  const Predictions repeated = predict("p.csv", {"--data", "data.parquet", "--data", other});
  EXPECT_EQ(repeated.ids, expected.ids);
  EXPECT_EQ(repeated.predictions, expected.predictions);
}

TEST_F(PredictTest, ConfigurationsThatLeavePathsToTheCommandLine) {
  const Predictions expected = predict("expected.parquet", {});
  std::string job = kJob;
  for (size_t at; (at = job.find("path: \"data.parquet\"")) != std::string::npos;) {
    job.erase(at, 20);
  }
  write("job.textproto", job);
  EXPECT_EQ(predict("p.parquet", {"--data", "data.parquet"}).predictions, expected.predictions);
}

TEST_F(PredictTest, TheCheckpointHasTheConfiguration) {
  const Predictions expected = predict("expected.parquet", {"--data", "data.parquet"});
  millrace_ok({"evaluate", "job.textproto", "--checkpoint", checkpoint_, "--summary", "e.json"});
  // Removes all data of training.
  std::filesystem::remove(path("job.textproto"));
  std::filesystem::remove(path("data.parquet"));
  const std::string data = write_table("new", DataConfig::PARQUET);
  millrace_ok({"predict", "--checkpoint", checkpoint_, "--data", data, "--output", "p.parquet"});
  const Predictions predicted = read_predictions("p.parquet");
  EXPECT_EQ(predicted.ids, expected.ids);
  EXPECT_EQ(predicted.predictions, expected.predictions);
  millrace_ok({"evaluate", "--checkpoint", checkpoint_ + "/checkpoints", "--eval_data", data,
               "--summary", "f.json"});
  EXPECT_EQ(read_json("f.json")["eval"], read_json("e.json")["eval"]);

  const ProgramResult missing = millrace({"evaluate", "--checkpoint", checkpoint_});
  EXPECT_EQ(missing.exit_code, kNoInput) << "its paths are relative to the directory";
  EXPECT_THAT(missing.last_error(), HasSubstr("data.parquet"));
  const ProgramResult other = millrace({"evaluate", "--checkpoint", checkpoint_, "--eval_data",
                                        data, "--set", "train.table[0].dim=0"});
  EXPECT_EQ(other.exit_code, kUsage);
  EXPECT_THAT(other.last_error(),
              HasSubstr("the configuration in " + checkpoint_ + "/checkpoints/step-00000020"));
}

TEST_F(PredictTest, Refusals) {
  refused({"--output", "p.orc"}, kUsage, "p.orc: the extension says what is written");
  refused({}, kUsage, "--output");
  refused({"--output", "missing/p.csv"}, kCannotWrite, "missing/p.csv");
  refused({"--output", "data.parquet"}, kUsage, "it is a file of train.");
  refused({"--output", "p.csv", "--data", "none.parquet"}, kNoInput, "none.parquet");
  refused({"--output", "p.csv", "--data", "data.parquet", "--eval_data", "data.parquet"}, kUsage,
          "--data and --eval_data");
  refused({"--output", "p.csv", "--set", "train.table[0].dim=8"}, kUsage, "table");
  const std::string other = write_table("other", DataConfig::ORC);
  std::filesystem::copy_file(path("data.parquet"), path("moved.parquet"));
  for (const char* trained : {"data.parquet", "moved.parquet"}) {
    refused({"--data", other, "--overwrite", "--output", trained}, kUsage,
            "it is a file of the training data of the checkpoint");
  }
  std::filesystem::create_directory(path("folder.csv"));
  refused({"--output", "folder.csv"}, kCannotWrite, "folder.csv is a directory");
}

TEST_F(PredictTest, ErrorsNameTheFlagThatGaveTheData) {
  const std::vector<std::string> output = {"--output", "p.csv"};
  const auto refused_with = [&](std::vector<std::string> flags, int exit_code,
                                const std::string& what) {
    flags.insert(flags.end(), output.begin(), output.end());
    refused(std::move(flags), exit_code, what);
  };
  drop_column("c2");
  const std::string narrow = write_table("narrow", DataConfig::ORC);
  refused_with({"--data", narrow}, kUsage, "--data: " + narrow + " has no column \"c2\"");
  refused_with({"--eval_data", narrow}, kUsage, "--eval_data: " + narrow + " has no column");
  refused_with({"--set", "train.eval_data[0].data.path='" + narrow + "'"}, kUsage,
               "train.eval_data \"eval\": " + narrow + " has no column");
  refused_with({"--data", ","}, kUsage, "--data: \",\" names no file");
  refused_with({"--data", "~/none.orc"}, kNoInput, "a file of --data is missing");
  refused_with({"--set", "train.eval_data=[]"}, kUsage, "give --data or train.eval_data");
  refused({"--data", "data.parquet", "--output", "data.parquet"}, kUsage, "it is a file of --data");
  std::string job = kJob;
  job.insert(job.find("  feature"),
             "  eval_data { name: \"a\" data { path: \"data.parquet\" } }\n");
  write("job.textproto", job);
  refused_with({"--data", narrow}, kUsage, "--data: the configuration has several evaluation sets");
}

TEST_F(PredictTest, APartWithoutExamplesIsNamed) {
  const std::string split = "train.eval_data[0].data.split={from: 0.9999999 to: 1}";
  const std::string part =
      "no example of its 3000 rows is in the set, of which the configuration takes the part split "
      "{ "
      "from: 0.9999999 to: 1 }; take all of it with --set 'train.eval_data[0].data.split={}'";
  refused({"--output", "p.csv", "--set", split}, kUsage, "train.eval_data \"eval\": " + part);
  const std::vector<std::string> evaluate = {"evaluate",    "job.textproto", "--checkpoint",
                                             checkpoint_,   "--set",         split,
                                             "--eval_data", "data.parquet"};
  const ProgramResult evaluated = millrace(evaluate);
  EXPECT_EQ(evaluated.exit_code, kUsage);
  EXPECT_THAT(evaluated.last_error(), HasSubstr("--eval_data: " + part));
  std::vector<std::string> all = evaluate;
  all.insert(all.end(), {"--set", "train.eval_data[0].data.split={}"});
  millrace_ok(all);
}

TEST_F(PredictTest, DataThatDoesNotFit) {
  drop_column("c2");
  refused({"--output", "p.csv", "--data", write_table("narrow", DataConfig::ORC)}, kUsage,
          "has no column \"c2\"");
  write("bad.csv", "row,label,i1,i2,c1,c2\n1,1,0.5,0.5,3,4\n2,1,much,0.5,3,4\n");
  refused({"--output", "p.csv", "--data", "bad.csv"}, kBadData, "line 3, column i1: \"much\"");
  write("labels.csv", "row,label,i1,i2,c1,c2\n1,7,0.5,0.5,3,4\n");
  refused({"--output", "p.csv", "--data", "labels.csv"}, kBadData, "label 7");
}

}  // namespace
}  // namespace millrace
