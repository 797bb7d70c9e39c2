#include "job/generated_data.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <string>

#include "base/status_matchers.h"

namespace millrace {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TrainConfig config_in(const std::string& directory) {
  TrainConfig config;
  config.mutable_generated_data()->set_directory(testing::TempDir() + "/" + directory);
  config.mutable_generated_data()->set_rows(40);
  config.mutable_generated_data()->set_eval_rows(30);
  return config;
}

TEST(UseGeneratedDataTest, NamesTheFilesWhereNoneAreGiven) {
  TrainConfig config;
  config.mutable_generated_data()->set_directory("d");
  config.mutable_generated_data()->set_eval_rows(1);
  use_generated_data(&config);
  EXPECT_THAT(config.train_data().path(), ElementsAre("d/part-0.parquet", "d/part-1.parquet",
                                                      "d/part-2.parquet", "d/part-3.parquet"));
  ASSERT_EQ(config.eval_data_size(), 1);
  EXPECT_THAT(config.eval_data(0).data().path(), ElementsAre("d/eval.parquet"));
}

TEST(UseGeneratedDataTest, LeavesOtherPathsAlone) {
  TrainConfig config;
  config.mutable_generated_data()->set_directory("d");
  config.mutable_generated_data()->set_eval_rows(1);
  config.mutable_train_data()->add_path("mine.orc");
  config.add_eval_data()->mutable_data()->add_path("held_out.orc");
  use_generated_data(&config);
  EXPECT_THAT(config.train_data().path(), ElementsAre("mine.orc"));
  EXPECT_THAT(config.eval_data(0).data().path(), ElementsAre("held_out.orc"));
}

TEST(UseGeneratedDataTest, DoesNothingWithoutGeneratedData) {
  TrainConfig config;
  use_generated_data(&config);
  EXPECT_THAT(config.train_data().path(), IsEmpty());
  EXPECT_EQ(config.eval_data_size(), 0);
}

TEST(MakeGeneratedDataTest, ReturnsNoneIfItIsNotConfigured) {
  ASSERT_OK_AND_ASSIGN(const auto data, make_generated_data(FileSystem::local(), TrainConfig()));
  EXPECT_FALSE(data.has_value());
}

TEST(MakeGeneratedDataTest, MakesTheSameFilesOnce) {
  const TrainConfig config = config_in("once");
  ASSERT_OK_AND_ASSIGN(const auto first, make_generated_data(FileSystem::local(), config));
  EXPECT_TRUE(first->made);
  ASSERT_OK_AND_ASSIGN(const auto second, make_generated_data(FileSystem::local(), config));
  EXPECT_FALSE(second->made);
  EXPECT_NEAR(second->best_auc, first->best_auc, 1e-6);
}

TEST(MakeGeneratedDataTest, MakesThemAgainIfOneIsMissingOrOthersAreWanted) {
  TrainConfig config = config_in("again");
  ASSERT_OK(make_generated_data(FileSystem::local(), config).status());
  ASSERT_OK(FileSystem::local().remove(config.generated_data().directory() + "/part-2.parquet"));
  ASSERT_OK_AND_ASSIGN(auto data, make_generated_data(FileSystem::local(), config));
  EXPECT_TRUE(data->made);
  const std::string eval = config.generated_data().directory() + "/eval.parquet";
  ASSERT_OK(FileSystem::local().remove(eval));
  ASSERT_OK_AND_ASSIGN(data, make_generated_data(FileSystem::local(), config));
  EXPECT_TRUE(data->made) << "the evaluation data is missing";
  ASSERT_EQ(::truncate(eval.c_str(), 100), 0);
  EXPECT_EQ(make_generated_data(FileSystem::local(), config).status().code(),
            absl::StatusCode::kPermissionDenied)
      << "a file of another size may be somebody else's";
  ASSERT_OK_AND_ASSIGN(data, make_generated_data(FileSystem::local(), config, /*overwrite=*/true));
  EXPECT_TRUE(data->made);
  config.mutable_generated_data()->set_seed(config.generated_data().seed() + 1);
  ASSERT_OK_AND_ASSIGN(data, make_generated_data(FileSystem::local(), config));
  EXPECT_TRUE(data->made);
}

}  // namespace
}  // namespace millrace
