#include "tools/model_flags.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/file_system.h"
#include "base/status_matchers.h"
#include "checkpoint/testing/rows_checkpoint_testing.h"
#include "proto/config_reader.h"
#include "tests/io_testing/data_files.h"

namespace millrace {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr absl::StatusCode kInvalid = absl::StatusCode::kInvalidArgument;

constexpr char kTrain[] = R"(
    train_data { path: "gone.orc" batch_size: 32 }
    eval_data { data { path: "b.orc" } }
    feature { name: "label" kind: LABEL }
    feature { name: "c{1..2}" }
    table { name: "c{1..2}" dim: 4 }
    model { name: "deepfm" }
    seed: 5
)";

class ModelFlagsTest : public testing::Test {
 protected:
  // Writes a checkpoint like `train`, with the configuration expanded.
  void write_checkpoint(int64_t step, const std::string& text) {
    TrainConfig config;
    if (parse_text(text, "text", &config).ok()) expand_names(&config);
    RowsCheckpoint content;
    content.step = step;
    content.config = config.feature().empty() ? text : to_text(config);
    ASSERT_OK(write_rows_checkpoint(FileSystem::local(), out_ + "/checkpoints", content));
  }

  absl::StatusOr<JobConfig> load(std::vector<std::string> arguments, int world_size = 1) {
    CLI::App app("test");
    ModelFlags flags;
    add_model_flags(app, flags);
    arguments.insert(arguments.end(), {"--checkpoint", out_});
    std::reverse(arguments.begin(), arguments.end());  // as CLI11 wants them
    app.parse(arguments);
    return load_model_config(FileSystem::local(), flags, world_size);
  }

  const std::string out_ = fresh_test_dir();
};

TEST_F(ModelFlagsTest, TheHelpBeginsWithTheFlagsOfTheCommand) {
  CLI::App app("test");
  ModelFlags flags;
  add_model_flags(app, flags);
  app.add_option("--output");
  const std::string help = app.help();
  EXPECT_LT(help.find("--checkpoint"), help.find("--output"));
  EXPECT_LT(help.find("--output"), help.find("--set"));
  EXPECT_LT(help.find("--set"), help.find("--train_data"));
}

TEST_F(ModelFlagsTest, TheCheckpointHasTheConfiguration) {
  write_checkpoint(20, kTrain);
  for (const int world_size : {1, 2}) {
    ASSERT_OK_AND_ASSIGN(const JobConfig config, load({}, world_size));
    EXPECT_EQ(config.train().feature_size(), 3);
    EXPECT_EQ(config.train().table_size(), 2);
    EXPECT_EQ(config.train().seed(), 5u);
    EXPECT_EQ(config.run().output_dir(), "out") << "the default";
  }
}

TEST_F(ModelFlagsTest, FlagsChangeIt) {
  write_checkpoint(20, kTrain);
  ASSERT_OK_AND_ASSIGN(const JobConfig config,
                       load({"--set", "train.table[1].dim=8", "--set", "run.read.reader_threads=3",
                             "--eval_data", "c.orc", "--threads", "2"}));
  EXPECT_EQ(config.train().table(1).dim(), 8);
  EXPECT_EQ(config.run().read().reader_threads(), 3);
  EXPECT_EQ(config.run().threads(), 2);
  EXPECT_THAT(config.train().eval_data(0).data().path(), ElementsAre("c.orc"));
}

TEST_F(ModelFlagsTest, AConfigurationThatIsGivenWins) {
  const std::string path = out_ + "/job.textproto";
  ASSERT_OK(write_file_atomically(FileSystem::local(), path,
                                  absl::StrCat("train { ", kTrain, " max_steps: 7 }")));
  ASSERT_OK_AND_ASSIGN(const JobConfig config, load({path}));
  EXPECT_EQ(config.train().max_steps(), 7) << "without any checkpoint";
}

TEST_F(ModelFlagsTest, TheNewestOfAFolderThatCanBeOpened) {
  write_checkpoint(10, absl::StrCat(kTrain, "max_steps: 10"));
  write_checkpoint(20, absl::StrCat(kTrain, "max_steps: 20"));
  EXPECT_EQ(load({})->train().max_steps(), 20);
  ASSERT_OK(write_file_atomically(FileSystem::local(),
                                  out_ + "/checkpoints/step-00000020/manifest.json", "{"));
  EXPECT_EQ(load({})->train().max_steps(), 10);
}

TEST_F(ModelFlagsTest, DataThatIsGeneratedIsNotMadeForOtherData) {
  write_checkpoint(20, absl::StrCat(kTrain, "generated_data { directory: 'made' rows: 1000 }"));
  EXPECT_TRUE(load({})->train().has_generated_data());
  EXPECT_FALSE(load({"--eval_data", "c.orc"})->train().has_generated_data());
}

TEST_F(ModelFlagsTest, WhatThisProgramCannotRead) {
  EXPECT_THAT(load({}), StatusIs(absl::StatusCode::kNotFound, HasSubstr("--checkpoint")));
  write_checkpoint(10, "");
  EXPECT_THAT(load({}), StatusIs(kInvalid, HasSubstr("holds no configuration; give CONFIG")));
  write_checkpoint(20, "model { name: 'own' [own.extension] { x: 1 } }");
  EXPECT_THAT(load({}), StatusIs(kInvalid, AllOf(HasSubstr("cannot read the configuration in " +
                                                           out_ + "/checkpoints/step-00000020"),
                                                 HasSubstr("; give CONFIG: config:1:"),
                                                 HasSubstr("own.extension"))));
}

TEST_F(ModelFlagsTest, MistakesNameTheCheckpoint) {
  write_checkpoint(20, kTrain);
  EXPECT_THAT(load({"--set", "train.table[0].dim=0"}),
              StatusIs(kInvalid, AllOf(HasSubstr("the configuration in " + out_ +
                                                 "/checkpoints/step-00000020: train.table[0]"),
                                       HasSubstr("dim is 0"))));
}

TEST_F(ModelFlagsTest, AnEmptyNameIsNoConfiguration) {
  write_checkpoint(20, kTrain);
  EXPECT_THROW(load({""}).status().IgnoreError(), CLI::ValidationError);
}

TEST(WeightsFlagTest, TakesItsTwoWords) {
  CLI::App command;
  std::string weights;
  add_weights_flag(command, weights);
  command.parse("--weights trained");
  EXPECT_EQ(weights, "trained");
  command.parse("--weights average");
  EXPECT_EQ(weights, "average");
  EXPECT_THROW(command.parse("--weights ema"), CLI::ValidationError);
}

TEST(WeightsFlagTest, WithoutItEvaluationsDecide) {
  TrainConfig train;
  EXPECT_EQ(chosen_weights("", train), ModelWeights::kTrained);
  EXPECT_EQ(chosen_weights("average", train), ModelWeights::kAverage);
  train.mutable_moving_average();
  EXPECT_EQ(chosen_weights("", train), ModelWeights::kAverage);
  EXPECT_EQ(chosen_weights("trained", train), ModelWeights::kTrained);
  train.mutable_moving_average()->set_evaluate(false);
  EXPECT_EQ(chosen_weights("", train), ModelWeights::kTrained);
}

}  // namespace
}  // namespace millrace
