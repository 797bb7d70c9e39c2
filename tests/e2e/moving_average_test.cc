// Tests a job with train.moving_average: the weights that are evaluated, predicted with and
// exported, and the average in checkpoints.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/csrc/jit/serialization/import.h>

#include <cstring>
#include <string>
#include <vector>

#include "base/file_system.h"
#include "base/status_matchers.h"
#include "checkpoint/inspect/checkpoint_content.h"
#include "tests/e2e/program_test.h"
#include "tests/e2e/small_job.h"
#include "tests/io_testing/data_files.h"

namespace millrace {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr char kAverage[] = "moving_average { decay: 0.95 }";
constexpr char kNewest[] = "out/checkpoints/step-00000012";

class MovingAverageProgramTest : public ProgramTest {
 protected:
  void SetUp() override {
    ASSERT_OK(write_data_file(criteo_like_table(600, 1, 1), DataConfig::PARQUET, /*group_rows=*/0,
                              path("data.parquet")));
    write("job.textproto", job(kAverage));
    write("without.textproto", job(""));
  }
  // Returns a job of twelve steps with a checkpoint after every fourth step. The older checkpoints
  // keep only the model.
  static std::string job(const std::string& train) {
    SmallJob job;
    job.train_path = job.eval_path = "data.parquet";
    job.train = "optimizer { learning_rate: 0.05 adam {} } max_steps: 12 max_epochs: 0 " + train;
    job.run = "checkpoint { when { every_steps: 4 } full_last: 1 }";
    return small_job(job);
  }
  // Returns the metrics of the set "eval" in a command's summary.
  nlohmann::json metrics(std::vector<std::string> command) const {
    command.insert(command.end(), {"--summary", "s.json", "--overwrite"});
    millrace_ok(command);
    return read_json("s.json")["eval"];
  }
  std::vector<std::string> evaluate(const std::string& checkpoint, const std::string& weights = "",
                                    const std::string& config = "job.textproto") const {
    std::vector<std::string> command = {"evaluate", config, "--checkpoint", checkpoint};
    if (!weights.empty()) command.insert(command.end(), {"--weights", weights});
    return command;
  }
};

TEST_F(MovingAverageProgramTest, EvaluationsTakeItUnlessTold) {
  const nlohmann::json trained = metrics({"train", "job.textproto"});
  const nlohmann::json average = metrics(evaluate("out"));
  const nlohmann::json parameters = metrics(evaluate("out", "trained"));
  EXPECT_EQ(average["logloss"], trained["logloss"]) << "as evaluated in training";
  EXPECT_EQ(metrics(evaluate("out", "average")), average);
  EXPECT_NE(parameters["logloss"], average["logloss"]);
  EXPECT_THAT(millrace_ok(evaluate("out")).err, HasSubstr("their moving averages"));
  // The command uses the choice of the job.
  write("other.textproto", job("moving_average { decay: 0.95 evaluate: false }"));
  EXPECT_EQ(metrics(evaluate("out", "", "other.textproto")), parameters);
  EXPECT_EQ(metrics(evaluate("out", "average", "other.textproto")), average);
  EXPECT_EQ(millrace(evaluate("out", "ema")).exit_code, kUsage);
  // A model-only checkpoint has weights and averages.
  const std::string older = "out/checkpoints/step-00000008";
  EXPECT_THAT(millrace_ok({"checkpoint", "show", older}).out,
              AllOf(HasSubstr("optimizer/mlp.0.weight/average"), testing::Not(HasSubstr("exp_avg")),
                    testing::Not(HasSubstr("average_updates"))));
  EXPECT_NE(metrics(evaluate(older, "trained"))["logloss"],
            metrics(evaluate(older, "average"))["logloss"]);
  millrace_ok({"checkpoint", "verify", older});
}

TEST_F(MovingAverageProgramTest, PredictionsAndExportsTakeIt) {
  millrace_ok({"train", "job.textproto"});
  const auto predict = [&](const std::string& output, const std::string& weights) {
    millrace_ok({"predict", "job.textproto", "--checkpoint", "out", "--output", output, "--weights",
                 weights});
    return read(output);
  };
  const std::string average = predict("average.csv", "average");
  EXPECT_NE(predict("trained.csv", "trained"), average);
  millrace_ok({"predict", "job.textproto", "--checkpoint", "out", "--output", "default.csv"});
  EXPECT_EQ(read("default.csv"), average);

  ASSERT_OK_AND_ASSIGN(const auto content,
                       CheckpointContent::open(FileSystem::local(), path(kNewest)));
  for (const std::string weights : {"average", "trained"}) {
    millrace_ok({"export", "job.textproto", "--checkpoint", "out", "--output", weights + ".pt",
                 "--weights", weights});
    const torch::jit::Module module = torch::jit::load(path(weights + ".pt"));
    int compared = 0;
    for (const auto& parameter : module.named_parameters()) {
      const std::string name =
          weights == "average" ? "optimizer/" + parameter.name + "/average" : parameter.name;
      ASSERT_OK_AND_ASSIGN(const std::string bytes, content->read(name));
      const at::Tensor value = parameter.value.contiguous();
      ASSERT_EQ(bytes.size(), value.nbytes()) << name;
      EXPECT_EQ(std::memcmp(bytes.data(), value.const_data_ptr(), bytes.size()), 0) << name;
      ++compared;
    }
    EXPECT_GE(compared, 4);
  }
}

TEST_F(MovingAverageProgramTest, ACheckpointWithoutOneIsRefused) {
  millrace_ok({"train", "without.textproto"});
  for (const std::string weights : {"", "average"}) {
    const ProgramResult refused = millrace(evaluate("out", weights));
    EXPECT_EQ(refused.exit_code, kUsage);
    EXPECT_THAT(refused.last_error(), AllOf(HasSubstr(kNewest), HasSubstr("has no moving average"),
                                            HasSubstr("--weights trained")));
  }
  EXPECT_EQ(metrics(evaluate("out", "trained")), metrics(evaluate("out", "", "without.textproto")));
}

TEST_F(MovingAverageProgramTest, ComesToAJobThatHadNoneByTheModelBank) {
  millrace_ok({"train", "without.textproto"});
  const ProgramResult refused = millrace({"train", "job.textproto", "--max_steps", "14"});
  EXPECT_EQ(refused.exit_code, kUsage);
  EXPECT_THAT(refused.last_error() + refused.err,
              AllOf(HasSubstr("moving_average: not there → there"), HasSubstr("model_bank")));
  const std::string bank =
      "train.model_bank={ source { path: \"out\" parts: [WEIGHTS, SLOTS, DENSE_OPTIMIZER, "
      "PROGRESS, CURSOR, HOOKS] } }";
  millrace_ok(
      {"train", "job.textproto", "--max_steps", "14", "--output_dir", "more", "--set", bank});
  EXPECT_NE(metrics(evaluate("more", "trained"))["logloss"],
            metrics(evaluate("more", "average"))["logloss"]);
  // A job without an average loads a model with an average only if the source excludes it.
  const std::vector<std::string> back = {
      "train", "without.textproto", "--max_steps", "16", "--output_dir", "back", "--set"};
  const auto from = [](const std::string& exclude) {
    return "train.model_bank={ source { path: \"more\" parts: [WEIGHTS, SLOTS, DENSE_OPTIMIZER, "
           "PROGRESS, CURSOR, HOOKS] " +
           exclude + " } }";
  };
  std::vector<std::string> command = back;
  command.push_back(from(""));
  EXPECT_EQ(millrace(command).exit_code, kUsage);
  command.back() = from("exclude: \"*@average*\"");
  millrace_ok(command);
}

TEST_F(MovingAverageProgramTest, WhatCannotBeIsFoundBeforeTraining) {
  const auto refused = [&](const std::string& train, const std::string& what) {
    write("bad.textproto", job(train));
    const ProgramResult checked = millrace({"config", "check", "bad.textproto"});
    EXPECT_EQ(checked.exit_code, kUsage) << train;
    EXPECT_THAT(checked.err, HasSubstr(what));
  };
  refused("moving_average { decay: 1 }", "train.moving_average: decay is 1; must be at least 0");
  refused("moving_average { decay: -0.5 }", "train.moving_average: decay is -0.5");
}

}  // namespace
}  // namespace millrace
