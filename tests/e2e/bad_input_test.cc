// Tests reports of errors in input: a line names the error; no run crashes, hangs or leaves files.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <limits>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/file_system.h"
#include "base/random/philox.h"
#include "base/status_matchers.h"
#include "io/epoch/batch_dataset.h"
#include "io/feature_schema.h"
#include "proto/config.pb.h"
#include "tests/e2e/program_test.h"
#include "tests/e2e/small_job.h"
#include "tests/io_testing/data_files.h"

namespace millrace {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;
using Json = nlohmann::json;

constexpr int64_t kRows = 300;

SmallJob job() {
  return {
      .train_path = "good.parquet",
      .eval_path = "good.parquet",
      .dense = {"i1", "i2"},
      .ids = {"c1", "c2"},
  };
}

TestTable good_table() { return criteo_like_table(kRows, 2, 2); }

TestColumn& column_of(TestTable& table, const std::string& name) {
  for (TestColumn& column : table.columns) {
    if (column.name == name) return column;
  }
  ADD_FAILURE() << "no column " << name;
  return table.columns[0];
}

class BadInputTest : public ProgramTest {
 protected:
  BadInputTest() {
    write("job.textproto", small_job(job()));
    write_data(good_table(), "good.parquet", DataConfig::PARQUET);
  }

  void write_data(const TestTable& table, const std::string& name, DataConfig::Format format,
                  int64_t group_rows = 0) {
    ASSERT_OK(write_data_file(table, format, group_rows, path(name)));
  }

  // Expects the command to fail: with this exit code; a last line that begins with the program and
  // contains all of `words`; the same line in the summary; no output directory.
  void expect_refused(std::vector<std::string> command, int code,
                      const std::vector<std::string>& words) {
    SCOPED_TRACE(testing::PrintToString(command));
    std::filesystem::remove(path("s.json"));
    command.insert(command.end(), {"--summary", "s.json"});
    const ProgramResult result = millrace(std::move(command));
    expect_clear(result, code, words);
    EXPECT_FALSE(exists("out"));
    const Json summary = read_json("s.json");
    EXPECT_EQ(summary["outcome"], "failed");
    EXPECT_EQ(summary["steps"], 0);
    EXPECT_EQ(absl::StrCat("millrace: ", summary["error"].get<std::string>()), result.last_error());
  }
  void train_refused(std::vector<std::string> flags, int code,
                     const std::vector<std::string>& words) {
    flags.insert(flags.begin(), {"train", "job.textproto"});
    expect_refused(std::move(flags), code, words);
  }
  // Expects that training on this file is refused.
  void data_refused(const std::string& data, int code, const std::vector<std::string>& words) {
    train_refused({"--train_data", data}, code, words);
  }
  void evaluate_refused(std::vector<std::string> flags, int code,
                        const std::vector<std::string>& words) {
    flags.insert(flags.begin(), {"evaluate", "job.textproto"});
    expect_refused(std::move(flags), code, words);
  }

  static void expect_clear(const ProgramResult& result, int code,
                           const std::vector<std::string>& words) {
    EXPECT_EQ(result.exit_code, code) << result.err;
    EXPECT_THAT(result.last_error(), StartsWith("millrace: "));
    for (const std::string& word : words) {
      EXPECT_THAT(result.last_error(), HasSubstr(word)) << result.err;
    }
    for (const char* trace : {"what():", "terminate called", "Exception raised from", "#0 ",
                              "stack trace", "    @ ", "frame #"}) {
      EXPECT_THAT(result.err, Not(HasSubstr(trace)));
    }
  }
};

TEST_F(BadInputTest, TheJobItselfIsGood) {
  millrace_ok({"train", "job.textproto"});
  EXPECT_EQ(read_json("out/summary.json")["examples"], kRows);
}

TEST_F(BadInputTest, CommandLines) {
  expect_clear(millrace({}), kUsage, {"--help"});
  expect_clear(millrace({"trian", "job.textproto"}), kUsage, {"trian", "\"train\"", "--help"});
  expect_clear(millrace({"config", "chekc", "job.textproto"}), kUsage, {"chekc", "\"check\""});
  expect_clear(millrace({"bench", "no_such_bench"}), kUsage, {"no_such_bench"});
  expect_clear(millrace({"train"}), kUsage, {"config", "--help"});
  expect_clear(millrace({"evaluate", "job.textproto"}), kUsage, {"--checkpoint"});
  train_refused({"--max_step", "3"}, kUsage, {"--max_step", "\"--max_steps\"", "train --help"});
  train_refused({"--no_such_thing"}, kUsage, {"--no_such_thing"});
  train_refused({"--max_steps", "many"}, kUsage, {"--max_steps", "many"});
  train_refused({"--seed", "-1"}, kUsage, {"--seed", "-1"});
  train_refused({"another.textproto"}, kUsage, {"another.textproto"});
  train_refused({"--device", "cuda:0"}, kUsage, {"--device cuda:0"});
  EXPECT_FALSE(exists("out"));
}

TEST_F(BadInputTest, ConfigurationFiles) {
  expect_refused({"train", "none.textproto"}, kNoInput, {"none.textproto"});
  expect_refused({"train", "."}, kUsage, {"directory"});
  write("bad.textproto", "train {\n  sed: 3\n}\n");
  expect_refused({"train", "bad.textproto"}, kUsage, {"bad.textproto:2:", "sed", "\"seed\""});
  write("bad.textproto", "train {\n");
  expect_refused({"train", "bad.textproto"}, kUsage, {"bad.textproto:"});
  write("bad.textproto", "train {\n  seed: \"three\"\n}\n");
  expect_refused({"train", "bad.textproto"}, kUsage, {"bad.textproto:2:"});
  write("bad.textproto", std::string("\0\xff\x01", 3));
  expect_refused({"train", "bad.textproto"}, kUsage, {"bad.textproto:1:"});
  write("bad.textproto", "");
  expect_refused({"train", "bad.textproto"}, kUsage, {"bad.textproto"});
  expect_refused({"train", "good.parquet"}, kUsage, {"good.parquet:1:"});
  expect_clear(millrace({"config", "check", "bad.textproto"}), kUsage, {"bad.textproto"});
  EXPECT_EQ(millrace({"config", "defaults", "bad.textproto"}).out, "");
}

TEST_F(BadInputTest, FieldsOfTheConfiguration) {
  const struct {
    std::string assignment;
    std::vector<std::string> words;
  } cases[] = {
      {"train.train_data.batch_size=0", {"train.train_data", "batch_size is 0"}},
      {"train.eval_data[0].data.batch_size=-1", {"eval", "batch_size is -1"}},
      {"train.feature[3].table=c9", {"c1", "table", "c9"}},
      {"train.table[1].name=c1", {"train.table[1]", "c1"}},
      {"train.feature[2].name=i1", {"i1"}},
      {"train.hooks=[{ name: \"x\" }, { name: \"x\" }]", {"train.hooks[1]", "\"x\""}},
      {"train.optimizer.learning_rate=-0.5", {"train.optimizer", "learning_rate is -0.5"}},
      {"train.sparse_optimizer.learning_rate=nan", {"train.sparse_optimizer", "learning_rate"}},
      {"train.optimzer.learning_rate=1", {"--set", "optimzer", "\"optimizer\""}},
      {"train.model.name=deepfn", {"train.model", "deepfn", "\"deepfm\""}},
      {"train.model={}", {"train.model"}},
      {"run.hooks=[{ name: \"loger\" }]", {"run.hooks", "loger"}},
      {"run.read.reader_threads=0", {"reader_threads is 0"}},
      {"run.read.prefetch_batches=0", {"prefetch_batches is 0"}},
      {"train.max_steps=-1", {"max_steps"}},
      {"train.table[0].dim=0", {"train.table[0]", "dim is 0"}},
      {"train.model.[millrace.deepfm].hidden=[0]", {"hidden"}},
      {"train.train_data.path=[]", {"train.train_data", "path"}},
      {"run.output_dir=\"\"", {"output_dir"}},
      {"nonsense", {"--set", "nonsense"}},
  };
  for (const auto& test : cases) train_refused({"--set", test.assignment}, kUsage, test.words);
}

TEST_F(BadInputTest, FilesOfData) {
  std::filesystem::create_directory(path("dir"));
  data_refused("none.orc", kNoInput, {"train.train_data", "none.orc"});
  data_refused("none/*.orc", kNoInput, {"train.train_data", "none/*.orc"});
  data_refused("good.parquet,none-*.orc", kNoInput, {"none-*.orc"});
  data_refused("dir", kUsage, {"dir is a directory"});
  train_refused({"--eval_data", "none.orc"}, kNoInput, {"eval", "none.orc"});
  write("text.orc", "label,i1\n0,1\n");
  data_refused("text.orc", kBadData, {"text.orc"});
  write("text.parquet", "label,i1\n0,1\n");
  data_refused("text.parquet", kBadData, {"text.parquet"});
  write("empty.orc", "");
  data_refused("empty.orc", kBadData, {"empty.orc"});
  std::filesystem::copy_file(path("good.parquet"), path("good.bin"));
  data_refused("good.bin", kUsage, {"good.bin", ".parquet"});
  std::filesystem::copy_file(path("good.parquet"), path("parquet.orc"));
  data_refused("parquet.orc", kBadData, {"parquet.orc"});
}

TEST_F(BadInputTest, DataWithoutExamples) {
  for (const DataConfig::Format format : {DataConfig::PARQUET, DataConfig::ORC, DataConfig::CSV}) {
    const std::string name = absl::StrCat("no_rows", extension_of(format));
    write_data(criteo_like_table(0, 2, 2), name, format);
    data_refused(name, kBadData, {"no rows", name});
    std::filesystem::remove(path(name));
  }
}

TEST_F(BadInputTest, Columns) {
  for (const DataConfig::Format format : {DataConfig::PARQUET, DataConfig::ORC}) {
    const std::string name = absl::StrCat("bad", extension_of(format));
    TestTable table = good_table();
    column_of(table, "i2").name = "j2";
    write_data(table, name, format);
    data_refused(name, kUsage, {name, "\"i2\""});

    table = good_table();
    column_of(table, "i1").rows = TestColumn::Rows<std::string>(kRows, {"much"});
    write_data(table, name, format);
    data_refused(name, kUsage, {name, "\"i1\""});
  }
  TestTable table = good_table();
  column_of(table, "i1").rows = TestColumn::Rows<std::string>(kRows, {"much"});
  write_data(table, "bad.csv", DataConfig::CSV);
  data_refused("bad.csv", kBadData, {"bad.csv", "i1", "\"much\" is not a number"});
  write("short.csv", "label,i1,i2,c1,c2\n1,0.5\n");
  data_refused("short.csv", kBadData, {"short.csv"});
}

TEST_F(BadInputTest, Values) {
  for (const double label : {2.0, -1.0, 0.5, std::numeric_limits<double>::quiet_NaN()}) {
    TestTable table = good_table();
    std::get<TestColumn::Rows<double>>(column_of(table, "label").rows)[7] = {label};
    write_data(table, "bad.orc", DataConfig::ORC);
    data_refused("bad.orc", kBadData, {"bad.orc", "row 7", "column label"});
  }
  for (const double value :
       {std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity()}) {
    TestTable table = good_table();
    std::get<TestColumn::Rows<double>>(column_of(table, "i2").rows)[7] = {value};
    write_data(table, "bad.parquet", DataConfig::PARQUET);
    data_refused("bad.parquet", kBadData, {"bad.parquet", "row 7", "column i2"});
  }
}

TEST_F(BadInputTest, AValueBeyondTheFirstStepsFailsTheRunThatBegan) {
  TestTable table = good_table();
  std::get<TestColumn::Rows<double>>(column_of(table, "label").rows)[270] = {9};
  write_data(table, "bad.orc", DataConfig::ORC);
  const ProgramResult result = millrace(
      {"train", "job.textproto", "--train_data", "good.parquet,bad.orc", "--summary", "s.json"});
  expect_clear(result, kBadData, {"bad.orc", "row 270", "column label"});
  const Json summary = read_json("out/summary.json");
  EXPECT_EQ(summary, read_json("s.json"));
  EXPECT_EQ(summary["outcome"], "failed");
  EXPECT_EQ(summary["steps"], 5);  // the last batch of the good file waits for the next file
  EXPECT_EQ(summary["examples"], summary["steps"].get<int64_t>() * 50);
  EXPECT_EQ(summary["checkpoint"], "out/checkpoints/step-00000005");
}

// Returns places to cut a file of `size` bytes.
std::vector<size_t> cuts(size_t size, int count) {
  std::vector<size_t> places;
  for (int i = 0; i < count; ++i) places.push_back(philox64(11, 0, i) % size);
  return places;
}

TEST_F(BadInputTest, FilesCutAnywhere) {
  for (const DataConfig::Format format : {DataConfig::PARQUET, DataConfig::ORC}) {
    const std::string name = absl::StrCat("cut", extension_of(format));
    write_data(good_table(), name, format, 100);
    const std::string whole = read(name);
    for (const size_t size : cuts(whole.size(), 3)) {
      write(name, whole.substr(0, size));
      data_refused(name, kBadData, {name});
    }
    write(name, whole.substr(0, whole.size() - 1));
    data_refused(name, kBadData, {name});
  }
}

// Cuts the files at many places, without starting the program.
TEST_F(BadInputTest, DatasetsOfFilesCutAnywhere) {
  for (const DataConfig::Format format : {DataConfig::PARQUET, DataConfig::ORC}) {
    const std::string name = absl::StrCat("cut", extension_of(format));
    write_data(good_table(), name, format, 100);
    const std::string whole = read(name);
    DatasetOptions options;
    ASSERT_OK_AND_ASSIGN(options.schema, FeatureSchema::create(criteo_like_features(2, 2)));
    options.data.add_path(path(name));
    ASSERT_OK(open_dataset(options));
    for (const size_t size : cuts(whole.size(), 50)) {
      write(name, whole.substr(0, size));
      EXPECT_THAT(open_dataset(options), StatusIs(absl::StatusCode::kDataLoss, HasSubstr(name)))
          << size;
    }
  }
}

// A changed byte within the data gives an error that names the file, or other numbers.
TEST_F(BadInputTest, DamageWithin) {
  for (const DataConfig::Format format : {DataConfig::PARQUET, DataConfig::ORC}) {
    const std::string name = absl::StrCat("damaged", extension_of(format));
    write_data(good_table(), name, format, 100);
    const std::string whole = read(name);
    for (const size_t place : cuts(whole.size() - 16, 4)) {
      std::string damaged = whole;
      for (size_t i = place; i < place + 16; ++i) damaged[i] = static_cast<char>(~damaged[i]);
      write(name, damaged);
      std::filesystem::remove_all(path("out"));
      const ProgramResult result = millrace({"train", "job.textproto", "--train_data", name});
      if (result.exit_code != 0) expect_clear(result, result.exit_code, {name});
      EXPECT_THAT(result.exit_code, testing::AnyOf(0, kUsage, kBadData)) << result.err;
    }
  }
}

TEST_F(BadInputTest, OutputThatCannotBeWritten) {
  write("file", "mine");
  train_refused({"--output_dir", "file"}, kCannotWrite, {"file", "--output_dir"});
  train_refused({"--output_dir", "file/deeper/still"}, kCannotWrite, {"file/deeper/still"});
  EXPECT_EQ(read("file"), "mine");
  // A file replaces each directory, and a directory replaces each file.
  for (const std::string name : {"logs", "metrics", "checkpoints"}) {
    std::filesystem::create_directory(path("o"));
    write("o/" + name, "mine");
    train_refused({"--output_dir", "o"}, kCannotWrite, {"o/" + name});
    EXPECT_EQ(files_below("o").size(), 1u);
    std::filesystem::remove_all(path("o"));
  }
  for (const std::string name : {"config.textproto", "summary.json"}) {
    std::filesystem::create_directories(path("o/" + name));
    train_refused({"--output_dir", "o"}, kCannotWrite, {"o/" + name});
    EXPECT_EQ(files_below("o").size(), 0u);
    std::filesystem::remove_all(path("o"));
  }
  // An unwritable summary is reported before training.
  expect_clear(millrace({"train", "job.textproto", "--summary", "none/s.json"}), kCannotWrite,
               {"--summary", "none/s.json"});
  expect_clear(millrace({"train", "job.textproto", "--summary", "."}), kCannotWrite, {"--summary"});
  EXPECT_FALSE(exists("out"));
}

TEST_F(BadInputTest, Generate) {
  write("file", "mine");
  expect_clear(millrace({"generate", "--output_dir", "file"}), kCannotWrite, {"file"});
  expect_clear(millrace({"generate", "--output_dir", "file/g"}), kCannotWrite, {"file/g"});
  expect_clear(millrace({"generate"}), kUsage, {"--output_dir"});
  expect_clear(millrace({"generate", "--output_dir", "g", "--rows", "0"}), kUsage, {"rows is 0"});
  expect_clear(millrace({"generate", "--output_dir", "g", "--format", "xml"}), kUsage,
               {"--format", "xml"});
  expect_clear(millrace({"generate", "--output_dir", "g", "--seed", "-2"}), kUsage, {"--seed"});
  EXPECT_FALSE(exists("g"));
  write("made.textproto", R"(
    train {
      generated_data { directory: "file" rows: 10 eval_rows: 10 }
      feature { name: "label" kind: LABEL }
      feature { name: "i1" kind: DENSE default_value: 0 }
      model { name: "deepfm" }
    }
    run { output_dir: "out" })");
  expect_refused({"train", "made.textproto"}, kCannotWrite, {"train.generated_data", "file"});
  expect_refused({"train", "made.textproto", "--set", "train.generated_data.rows=0"}, kUsage,
                 {"rows is 0"});
}

TEST_F(BadInputTest, Checkpoints) {
  millrace_ok({"train", "job.textproto", "--output_dir", "trained", "--max_steps", "2"});
  const std::string checkpoint = newest_checkpoint("trained");
  evaluate_refused({"--checkpoint", "none"}, kNoInput, {"--checkpoint", "none"});
  std::filesystem::create_directory(path("empty"));
  evaluate_refused({"--checkpoint", "empty"}, kNoInput, {"empty"});
  evaluate_refused({"--checkpoint", "job.textproto"}, kUsage, {"job.textproto"});
  for (const char* other :
       {"train.model.[millrace.deepfm].hidden=[5]",
        "train.model={ name: \"dlrm\" [millrace.dlrm] { bottom: [4] top: [3] } }"}) {
    evaluate_refused({"--checkpoint", "trained", "--set", other}, kUsage,
                     {checkpoint, "another model", "float32 ["});
  }
  for (const std::string& file : files_below(checkpoint)) {
    const std::string content = read(join_path(checkpoint, file));
    write(join_path(checkpoint, file), content.substr(0, content.size() - 1));
    evaluate_refused({"--checkpoint", "trained"}, kBadData, {"--checkpoint", file});
    std::filesystem::remove(path(join_path(checkpoint, file)));
    evaluate_refused({"--checkpoint", checkpoint}, kBadData, {"--checkpoint", file});
    write(join_path(checkpoint, file), content);
  }
  millrace_ok({"evaluate", "job.textproto", "--checkpoint", checkpoint});
  evaluate_refused({"--checkpoint", "trained", "--eval_data", "none.orc"}, kNoInput, {"none.orc"});
  evaluate_refused({"--checkpoint", "trained", "--set", "train.eval_data=[]"}, kUsage,
                   {"eval_data"});
}

}  // namespace
}  // namespace millrace
