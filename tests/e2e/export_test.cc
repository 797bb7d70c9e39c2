// Tests `millrace export`, and a serving program that uses the result.
#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/csrc/jit/serialization/import.h>

#include <cmath>
#include <cstring>
#include <filesystem>
#include <map>
#include <string>
#include <variant>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "base/file_system.h"
#include "base/status_matchers.h"
#include "checkpoint/inspect/checkpoint_content.h"
#include "tests/e2e/program_test.h"
#include "tests/io_testing/data_files.h"

namespace millrace {
namespace {

using ::testing::HasSubstr;
using Json = nlohmann::json;

constexpr int64_t kRows = 1000;
constexpr int kFeatures = 2;  // of each kind
constexpr int64_t kDim = 5;   // of a row: deepfm adds a column

constexpr char kJob[] = R"(
train {
  train_data { path: "data.parquet" batch_size: 50 }
  feature { name: "label" kind: LABEL }
  feature { name: "row" kind: EXAMPLE_ID }
  feature { name: "i{1..2}" kind: DENSE default_value: 0 transform { log1p {} } }
  feature { name: "c{1..2}" }
  table { name: "c{1..2}" dim: 4 }
  model { name: "deepfm" [millrace.deepfm] { hidden: [16] } }
  max_steps: 20
}
run { output_dir: "out" threads: 1 }
)";

class ExportTest : public ProgramTest {
 protected:
  void SetUp() override {
    table_ = criteo_like_table(kRows, kFeatures, kFeatures);
    write("job.textproto", kJob);
    ASSERT_OK(write_data_file(table_, DataConfig::PARQUET, /*group_rows=*/0, path("data.parquet")));
    millrace_ok({"train", "job.textproto"});
  }

  template <typename T>
  const TestColumn::Rows<T>& column(const std::string& name) const {
    for (const TestColumn& column : table_.columns) {
      if (column.name == name) return std::get<TestColumn::Rows<T>>(column.rows);
    }
    ADD_FAILURE() << name;
    std::abort();
  }

  // Returns the dense features of all examples: float32 [kRows, kFeatures].
  at::Tensor dense() const {
    at::Tensor dense = at::zeros({kRows, kFeatures});
    for (int f = 0; f < kFeatures; ++f) {
      const auto& values = column<double>(absl::StrCat("i", f + 1));
      for (int64_t row = 0; row < kRows; ++row) {
        if (values[row].empty()) continue;
        const double value = values[row][0];
        dense[row][f] = std::copysign(std::log1p(std::abs(value)), value);
      }
    }
    return dense;
  }

  // Returns the rows of the tables in the checkpoint: float32 [kRows, kFeatures * kDim].
  at::Tensor embeddings() const {
    const auto content =
        CheckpointContent::open(FileSystem::local(), path("out/checkpoints/step-00000020"));
    EXPECT_OK(content.status());
    std::vector<at::Tensor> features;
    for (int f = 0; f < kFeatures; ++f) {
      const std::string name = absl::StrCat("c", f + 1);
      std::vector<int64_t> ids;
      for (const std::vector<int64_t>& list : column<int64_t>(name)) ids.push_back(list.at(0));
      const absl::StatusOr<RowBlock> rows = (*content)->read_rows(name, {"weights"}, ids);
      EXPECT_OK(rows.status());
      std::map<int64_t, int64_t> place;
      for (int64_t i = 0; i < rows->rows(); ++i) place[rows->ids[i]] = i;
      at::Tensor values = at::empty({kRows, kDim});
      for (int64_t row = 0; row < kRows; ++row) {
        const absl::string_view bytes = rows->row(0, place.at(ids[row]), kDim * sizeof(float));
        std::memcpy(values[row].mutable_data_ptr<float>(), bytes.data(), bytes.size());
      }
      features.push_back(values);
    }
    return at::cat(features, 1);
  }

  std::vector<float> predictions() const {
    millrace_ok({"predict", "job.textproto", "--checkpoint", "out", "--data", "data.parquet",
                 "--output", "p.csv"});
    std::vector<float> predictions;
    const std::string text = read_file(FileSystem::local(), path("p.csv")).value();
    const std::vector<std::string> lines = absl::StrSplit(text, '\n', absl::SkipEmpty());
    for (size_t i = 1; i < lines.size(); ++i) {
      const std::vector<std::string> cells = absl::StrSplit(lines[i], ',');
      EXPECT_TRUE(absl::SimpleAtof(cells.at(1), &predictions.emplace_back()));
    }
    return predictions;
  }

  void refused(std::vector<std::string> flags, int exit_code, const std::string& what) const {
    std::vector<std::string> arguments = {"export", "job.textproto"};
    arguments.insert(arguments.end(), flags.begin(), flags.end());
    const std::vector<std::string> before = files_below(".");
    const ProgramResult result = millrace(arguments);
    EXPECT_EQ(result.exit_code, exit_code) << result.err;
    EXPECT_THAT(result.last_error(), HasSubstr(what));
    EXPECT_EQ(files_below("."), before) << "nothing is left behind";
  }

  TestTable table_;
};

TEST_F(ExportTest, AScriptAndTheRowsOfACheckpointPredictWhatPredictDoes) {
  std::filesystem::remove(path("data.parquet"));  // export reads no data
  write("model.pt", "another file, which is replaced only if asked for");
  std::vector<std::string> command = {"export",   "job.textproto", "--checkpoint", "out",
                                      "--output", "model.pt",      "--summary",    "s.json"};
  EXPECT_EQ(millrace(command).exit_code, kCannotWrite);
  command.push_back("--overwrite");
  millrace_ok(command);
  command.pop_back();
  const ProgramResult result = millrace_ok(command);
  EXPECT_THAT(result.out, HasSubstr("input dense: float32 [batch, 2]\n"
                                    "input embeddings: float32 [batch, 10]\n"));
  const Json summary = read_json("s.json");
  EXPECT_EQ(summary["outcome"], "completed");
  EXPECT_EQ(summary["steps"], 20);
  EXPECT_EQ(summary["checkpoint"], "out/checkpoints/step-00000020");

  torch::jit::ExtraFilesMap extra = {{"millrace.json", ""}};
  torch::jit::Module module = torch::jit::load(path("model.pt"), std::nullopt, extra);
  EXPECT_EQ(Json::parse(extra["millrace.json"])["model"], "deepfm");
  ASSERT_OK(write_data_file(table_, DataConfig::PARQUET, /*group_rows=*/0, path("data.parquet")));
  const std::vector<float> expected = predictions();
  ASSERT_EQ(expected.size(), kRows);
  const at::NoGradGuard no_grad;
  const at::Tensor scripted = module.forward({dense(), embeddings()}).toTensor();
  EXPECT_LT((scripted.squeeze(1) - at::tensor(expected)).abs().max().item<float>(), 1e-5);
}

TEST_F(ExportTest, TheCheckpointHasTheConfiguration) {
  const ProgramResult expected = millrace_ok(
      {"export", "job.textproto", "--checkpoint", "out", "--output", "model.pt", "--overwrite"});
  const std::string script = read("model.pt");
  std::filesystem::remove(path("job.textproto"));
  std::filesystem::remove(path("data.parquet"));
  const ProgramResult result =
      millrace_ok({"export", "--checkpoint", "out", "--output", "model.pt", "--overwrite"});
  EXPECT_EQ(result.out, expected.out);
  EXPECT_TRUE(read("model.pt") == script);
}

TEST_F(ExportTest, Refusals) {
  refused({"--checkpoint", "out"}, kUsage, "--output");
  refused({"--checkpoint", "out", "--output", "missing/m.pt"}, kCannotWrite, "missing/m.pt");
  refused({"--checkpoint", "nothing", "--output", "m.pt"}, kNoInput, "nothing");
  refused({"--checkpoint", "out", "--output", "out"}, kCannotWrite, "out is a directory");
  refused({"--checkpoint", "out", "--output", ""}, kUsage, "--output: it is empty");
  refused({"--checkpoint", "out", "--output", "job.textproto"}, kUsage, "is the configuration");
  refused({"--checkpoint", "out", "--output", "out/checkpoints/step-00000020/manifest.json"},
          kCannotWrite, "would lie in the checkpoint");
  refused({"--checkpoint", "out", "--output", "m.pt", "--set", "train.table[0].dim=8"}, kUsage,
          "table");
}

TEST_F(ExportTest, OneRankOnly) {
  const ProgramResult result = run_program(
      {"/usr/bin/env", "RANK=1", "WORLD_SIZE=2", "MASTER_PORT=1", "MASTER_ADDR=127.0.0.1",
       millrace_path(), "export", "job.textproto", "--checkpoint", "out", "--output", "m.pt"},
      {.directory = path(".")});
  EXPECT_EQ(result.exit_code, kUsage) << result.err;
  EXPECT_THAT(result.last_error(), HasSubstr("one rank, but this is rank 1 of 2"));
}

}  // namespace
}  // namespace millrace
