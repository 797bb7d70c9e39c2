// Tests that TensorBoard's reader shows the values of a run. MILLRACE_TENSORBOARD names the
// program, which `./bazelw test_setup` provides.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tests/e2e/program_test.h"
#include "tests/environment/skip.h"

namespace millrace {
namespace {

using ::testing::HasSubstr;
using Json = nlohmann::json;

constexpr char kJob[] = R"(
  train {
    generated_data { directory: "data" rows: 400 eval_rows: 100 }
    train_data { batch_size: 50 }
    feature { name: "label" kind: LABEL }
    feature { name: "i{1..13}" kind: DENSE default_value: 0 }
    feature { name: "c{1..26}" }
    table { name: "c{1..26}" dim: 4 }
    model { name: "deepfm" }
    max_steps: 4
    max_epochs: 0
  }
  run { output_dir: "out" report { when { every_steps: 2 } } })";

class TensorBoardTest : public ProgramTest {
 protected:
  void SetUp() override {
    if (std::getenv("MILLRACE_TENSORBOARD") == nullptr) {
      GTEST_SKIP() << skip_not_provided("MILLRACE_TENSORBOARD", "./bazelw test_setup provides it");
    }
    write("job.textproto", kJob);
  }

  // Returns the values that TensorBoard shows of a directory.
  Json shown(const std::string& directory) {
    const std::string python =
        std::filesystem::path(std::getenv("MILLRACE_TENSORBOARD")).replace_filename("python3");
    const std::string script = std::filesystem::absolute("tests/e2e/read_tensorboard.py");
    const ProgramResult result = run_program(
        {python, script, directory}, {.directory = path(""), .timeout = std::chrono::seconds(50)});
    EXPECT_EQ(result.exit_code, 0) << result.err;
    return Json::parse(result.out, nullptr, /*allow_exceptions=*/false);
  }

  static std::vector<int64_t> steps_of(const Json& events) {
    std::vector<int64_t> steps;
    for (const Json& event : events) steps.push_back(event[0].get<int64_t>());
    return steps;
  }
};

TEST_F(TensorBoardTest, ShowsReportsEvaluationsAndTheConfiguration) {
  millrace_ok({"train", "job.textproto"});
  const Json shown = this->shown("out/tensorboard");
  const std::vector<Json> reports = read_json_lines("out/metrics/train.jsonl");
  ASSERT_EQ(reports.size(), 2);
  const Json& losses = shown["scalars"]["train/loss"];
  ASSERT_EQ(losses.size(), 2) << shown;
  for (size_t i = 0; i < 2; ++i) {
    EXPECT_EQ(losses[i][0], reports[i]["step"]);
    EXPECT_FLOAT_EQ(losses[i][1].get<float>(), reports[i]["metrics"]["loss"].get<float>());
  }
  EXPECT_FLOAT_EQ(shown["scalars"]["eval/auc"][0][1].get<float>(),
                  read_json_lines("out/metrics/eval.jsonl")[0]["metrics"]["auc"].get<float>());
  EXPECT_EQ(shown["scalars"]["train/table/c1/rows"].size(), 2);
  EXPECT_THAT(shown["text"]["configuration"].get<std::string>(), HasSubstr("batch_size: 50"));
}

TEST_F(TensorBoardTest, ShowsHistogramsCurvesAndHyperParameters) {
  millrace_ok({"train", "job.textproto"});
  const Json shown = this->shown("out/tensorboard");
  for (const char* kind : {"parameters/", "gradients/"}) {
    int found = 0;
    for (const auto& [tag, events] : shown["histograms"].items()) {
      if (!tag.starts_with(kind)) continue;
      ++found;
      EXPECT_EQ(steps_of(events), (std::vector<int64_t>{2, 4})) << tag;
      EXPECT_GT(events[0][1].get<double>(), 0) << tag;
    }
    EXPECT_GT(found, 4) << kind;
  }
  const Json& curve = shown["curves"]["eval/pr_curve"];
  ASSERT_EQ(curve.size(), 1) << shown["curves"];
  const Json& rows = curve[0][1];
  ASSERT_EQ(rows.size(), 6);
  ASSERT_EQ(rows[0].size(), 201);
  for (size_t i = 0; i < 201; ++i) {
    const double all = rows[0][i].get<double>() + rows[1][i].get<double>() +
                       rows[2][i].get<double>() + rows[3][i].get<double>();
    EXPECT_EQ(all, 100) << "threshold " << i << " of 100 examples";
  }
  EXPECT_EQ(rows[5][0], 1) << "recall at threshold 0";
  EXPECT_EQ(rows[5][200], 0) << "recall at threshold 1";
  EXPECT_EQ(shown["hparams"]["train.max_steps"], 4);
  EXPECT_EQ(shown["hparams"]["train.model.name"], "deepfm");
}

TEST_F(TensorBoardTest, HistogramsCanBeSwitchedOff) {
  millrace_ok({"train", "job.textproto", "--set", "run.sink=[{tensorboard {histograms: false}}]"});
  EXPECT_TRUE(this->shown("out/tensorboard")["histograms"].empty());
}

TEST_F(TensorBoardTest, AResumedRunContinuesTheCurves) {
  millrace_ok({"train", "job.textproto"});
  millrace_ok({"train", "job.textproto", "--set", "train.max_steps=8"});
  EXPECT_EQ(steps_of(shown("out/tensorboard")["scalars"]["train/loss"]),
            (std::vector<int64_t>{2, 4, 6, 8}));
}

}  // namespace
}  // namespace millrace
