// Tests `millrace predict --keep`.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "base/file_system.h"
#include "base/status_matchers.h"
#include "io/file_reader.h"
#include "tests/e2e/program_test.h"
#include "tests/io_testing/data_files.h"

namespace millrace {
namespace {

using ::testing::HasSubstr;

constexpr int64_t kRows = 400;

constexpr char kJob[] = R"(
train {
  train_data { path: "data.parquet" batch_size: 64 }
  eval_data { name: "all" data { path: "data.parquet" batch_size: 100 } }
  feature { name: "label" kind: LABEL }
  feature { name: "row" kind: EXAMPLE_ID }
  feature { name: "i{1..2}" kind: DENSE default_value: 0 transform { log1p {} } }
  feature { name: "c1" }
  table { name: "c1" dim: 4 }
  model { name: "deepfm" [millrace.deepfm] { hidden: [8] } }
  max_steps: 5
}
run { output_dir: "out" threads: 1 }
)";

bool has_key(int64_t row) { return row % 9 != 4; }

// Returns the CSV cell of a row.
std::string key_cell(int64_t row) {
  if (!has_key(row)) return "";
  return row % 2 == 0 ? absl::StrCat("u", row) : absl::StrCat("\"u,", row, "\"");
}

// Returns a table with "key", a text that some rows lack, and "code", an integer.
TestTable table_of_keys() {
  TestTable table = criteo_like_table(kRows, 2, 1);
  TestColumn::Rows<std::string> keys(kRows);
  TestColumn::Rows<int64_t> codes(kRows);
  for (int64_t row = 0; row < kRows; ++row) {
    if (has_key(row)) keys[row] = {absl::StrCat(row % 2 == 0 ? "u" : "u,", row)};
    codes[row] = {-row};
  }
  table.columns.push_back({.name = "key", .rows = std::move(keys)});
  table.columns.push_back({.name = "code", .rows = std::move(codes)});
  return table;
}

class KeptColumnsProgramTest : public ProgramTest {
 protected:
  // Trains once for all tests.
  static void SetUpTestSuite() {
    const std::string directory = testing::TempDir() + "/trained_for_keys";
    std::filesystem::create_directory(directory);
    ASSERT_OK(write_file_atomically(FileSystem::local(), directory + "/job.textproto", kJob));
    ASSERT_OK(
        write_data_file(table_of_keys(), DataConfig::PARQUET, 150, directory + "/data.parquet"));
    const ProgramResult result = run_program(
        {millrace_path(), "train", "job.textproto", "--set", "run.evaluation.enabled=false"},
        {.directory = directory});
    ASSERT_EQ(result.exit_code, 0) << result.err;
    checkpoint_ = directory + "/out";
  }

  void SetUp() override {
    ASSERT_OK(write_data_file(table_, DataConfig::PARQUET, 150, path("data.parquet")));
  }

  static std::vector<std::string> predict(const std::vector<std::string>& flags) {
    std::vector<std::string> command = {"predict", "--checkpoint", checkpoint_};
    command.insert(command.end(), flags.begin(), flags.end());
    return command;
  }

  std::vector<std::string> lines(const std::string& name) const {
    return absl::StrSplit(read(name), '\n', absl::SkipEmpty());
  }

  // Expects lines "ROW,PREDICTION,LABEL,KEY,CODE" with the values of their rows. Returns the rows.
  static std::vector<int64_t> expect_rows(const std::vector<std::string>& lines) {
    std::vector<int64_t> rows;
    for (size_t i = 1; i < lines.size(); ++i) {
      const std::vector<std::string> cells = absl::StrSplit(lines[i], absl::MaxSplits(',', 3));
      rows.push_back(std::stoll(cells[0]));
      EXPECT_EQ(cells[3], absl::StrCat(key_cell(rows.back()), ",", -rows.back())) << lines[i];
    }
    return rows;
  }

  void refused(const std::vector<std::string>& flags, int exit_code,
               const std::string& what) const {
    const ProgramResult result = millrace(predict(flags));
    EXPECT_EQ(result.exit_code, exit_code) << result.err;
    EXPECT_THAT(result.last_error(), HasSubstr(what));
    EXPECT_FALSE(exists("p.csv"));
  }

  TestTable table_ = table_of_keys();
  static std::string checkpoint_;
};
std::string KeptColumnsProgramTest::checkpoint_;

TEST_F(KeptColumnsProgramTest, CsvAndParquetHoldTheSame) {
  millrace_ok(predict({"--keep", "key,code", "--output", "p.csv"}));
  EXPECT_EQ(lines("p.csv")[0], "example_id,label_prediction,label,key,code");
  const std::vector<int64_t> rows = expect_rows(lines("p.csv"));
  ASSERT_EQ(rows.size(), kRows);
  for (int64_t row = 0; row < kRows; ++row) EXPECT_EQ(rows[row], row);

  millrace_ok(predict({"--keep", "code", "--keep", "key", "--output", "p.parquet"}));
  ASSERT_OK_AND_ASSIGN(const auto reader,
                       open_file(FileSystem::local(), path("p.parquet"), DataConfig()));
  ASSERT_EQ(reader->columns().size(), 5u);
  EXPECT_EQ(reader->columns()[3].name, "code");
  EXPECT_EQ(reader->columns()[3].type, ValueType::kInt64);
  EXPECT_EQ(reader->columns()[4].type, ValueType::kString);
  ASSERT_OK_AND_ASSIGN(
      const std::vector<Column> columns,
      reader->read({0, 0, kRows}, {{3, ValueType::kInt64}, {4, ValueType::kString}}));
  for (int64_t row = 0; row < kRows; ++row) {
    EXPECT_EQ(columns[0].int64s[row], -row);
    ASSERT_EQ(columns[1].end(row) - columns[1].begin(row), has_key(row) ? 1 : 0) << row;
    if (!has_key(row)) continue;
    EXPECT_EQ(columns[1].strings[columns[1].begin(row)],
              absl::StrCat(row % 2 == 0 ? "u" : "u,", row));
  }
}

TEST_F(KeptColumnsProgramTest, SeveralSetsWithASplit) {
  std::string job = kJob;
  job.insert(job.find("  feature"),
             "  eval_data { name: 'half' data { path: 'data.parquet' split { to: 0.5 } } }\n");
  write("job.textproto", job);
  millrace_ok({"predict", "job.textproto", "--checkpoint", checkpoint_, "--keep", "key,code",
               "--output", "p.csv"});
  EXPECT_EQ(lines("p.csv")[0], "set,example_id,label_prediction,label,key,code");
  std::vector<std::string> without_set;
  for (const std::string& line : lines("p.csv")) {
    without_set.push_back(line.substr(line.find(',') + 1));
  }
  const size_t rows = expect_rows(without_set).size();
  EXPECT_GT(rows, kRows + kRows / 3);
  EXPECT_LT(rows, 2 * kRows);
}

TEST_F(KeptColumnsProgramTest, SeveralRanks) {
  millrace_ok(predict({"--keep", "key,code", "--output", "one.csv"}));
  std::vector<std::string> launch = {"launch", "-n", "2", "--"};
  const std::vector<std::string> command =
      predict({"--keep", "key,code", "--output", "p.csv", "--threads", "1"});
  launch.insert(launch.end(), command.begin(), command.end());
  millrace_ok(launch);
  std::vector<int64_t> rows;
  for (const char* file : {"p-00000-of-00002.csv", "p-00001-of-00002.csv"}) {
    EXPECT_EQ(lines(file)[0], lines("one.csv")[0]);
    for (const int64_t row : expect_rows(lines(file))) rows.push_back(row);
  }
  EXPECT_EQ(rows, expect_rows(lines("one.csv")));
}

TEST_F(KeptColumnsProgramTest, BadRowsAreLeftOut) {
  auto& labels = std::get<TestColumn::Rows<double>>(table_.columns[0].rows);
  for (const int64_t row : {5, 200}) labels[row] = {0.5};
  ASSERT_OK(write_data_file(table_, DataConfig::PARQUET, 150, path("bad.parquet")));
  millrace_ok(predict({"--data", "bad.parquet", "--keep", "key,code", "--output", "p.csv", "--set",
                       "train.eval_data[0].data.bad_data=SKIP", "--set",
                       "train.eval_data[0].data.max_bad_fraction=0.1"}));
  EXPECT_EQ(expect_rows(lines("p.csv")).size(), kRows - 2u);
}

TEST_F(KeptColumnsProgramTest, NamesWithCommas) {
  table_.columns.push_back({.name = "code,key", .rows = TestColumn::Rows<int64_t>(kRows, {5})});
  ASSERT_OK(write_data_file(table_, DataConfig::PARQUET, 150, path("data.parquet")));
  millrace_ok(predict({"--keep", "code,key", "--keep", "code", "--output", "p.csv"}));
  EXPECT_EQ(lines("p.csv")[0], "example_id,label_prediction,label,\"code,key\",code");
  EXPECT_THAT(lines("p.csv")[1], testing::EndsWith(",5,0"));
}

TEST_F(KeptColumnsProgramTest, Refusals) {
  refused({"--output", "p.csv", "--keep", "kay"}, kUsage,
          "has no column \"kay\"; did you mean \"key\"?");
  for (const char* name : {"label", "example_id", "label_prediction"}) {
    refused({"--output", "p.csv", "--keep", absl::StrCat("key,", name)}, kUsage,
            absl::StrCat("--keep: a column of the predictions is named \"", name, "\" already"));
  }
  refused({"--output", "p.csv", "--keep", "key,code,key"}, kUsage, "\"key\" comes twice");
  refused({"--output", "p.csv", "--keep", "key,,code"}, kUsage, "has an empty name");
  table_.columns.pop_back();
  table_.columns.push_back({.name = "code", .rows = TestColumn::Rows<std::string>(kRows, {"x"})});
  ASSERT_OK(write_data_file(table_, DataConfig::PARQUET, 150, path("other.parquet")));
  refused({"--output", "p.csv", "--keep", "code", "--data", "data.parquet,other.parquet"}, kUsage,
          "other.parquet, column \"code\" holds text");
  table_.columns.push_back(
      {.name = "tags", .rows = TestColumn::Rows<int64_t>(kRows, {1, 2}), .is_list = true});
  ASSERT_OK(write_data_file(table_, DataConfig::PARQUET, 150, path("lists.parquet")));
  refused({"--output", "p.csv", "--keep", "tags", "--data", "lists.parquet"}, kUsage,
          "column tags: 2 values; a column that is kept has at most one");
}

}  // namespace
}  // namespace millrace
