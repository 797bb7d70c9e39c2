#include "tools/weights.h"

#include <ATen/core/Tensor.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <string>

#include "base/status_matchers.h"
#include "framework/model.h"
#include "tests/fakes/tiny_model.h"
#include "tests/fakes/tiny_trainer.h"

namespace millrace {
namespace {

using ::testing::HasSubstr;

std::unique_ptr<Trainer> model_of(int64_t dense, int64_t sparse) {
  TinyTrainerOptions options;
  options.train.dense = dense;
  options.train.sparse = sparse;
  return tiny_trainer(options);
}

class WeightsTest : public testing::Test {
 protected:
  WeightsTest()
      : directory_(testing::TempDir() + "/" +
                   testing::UnitTest::GetInstance()->current_test_info()->name()),
        path_(directory_ + "/weights.safetensors") {
    std::filesystem::remove_all(directory_);
    std::filesystem::create_directories(directory_);
    trained_ = model_of(2, 3);
    EXPECT_OK(trained_->train());
  }

  FileSystem& files_ = FileSystem::local();
  const std::string directory_;
  const std::string path_;
  std::unique_ptr<Trainer> trained_;
};

TEST_F(WeightsTest, WhatIsLoadedIsWhatWasSaved) {
  ASSERT_OK(save_trainer_weights(files_, path_, *trained_));
  for (const std::string& from : {path_, directory_, directory_ + "/"}) {
    std::unique_ptr<Trainer> fresh = model_of(2, 3);
    ASSERT_OK_AND_ASSIGN(const LoadedWeights loaded, load_trainer_weights(files_, from, *fresh));
    EXPECT_EQ(std::filesystem::canonical(loaded.path), std::filesystem::canonical(path_));
    Progress expected = trained_->progress();
    expected.elapsed = absl::ZeroDuration();
    EXPECT_EQ(loaded.progress, expected);
    // Equal weights; states of optimizers are not in the file.
    for (size_t i = 0; i < fresh->parameters().size(); ++i) {
      EXPECT_TRUE(fresh->parameters()[i].value.equal(trained_->parameters()[i].value));
    }
    ASSERT_OK_AND_ASSIGN(const EvaluationResult before, trained_->evaluate("eval"));
    ASSERT_OK_AND_ASSIGN(const EvaluationResult after, fresh->evaluate("eval"));
    EXPECT_EQ(before.metrics, after.metrics);
  }
}

TEST_F(WeightsTest, EqualWeightsAreEqualBytes) {
  std::unique_ptr<Trainer> again = model_of(2, 3);
  ASSERT_OK(again->train());
  ASSERT_OK(save_trainer_weights(files_, path_, *trained_));
  ASSERT_OK(save_trainer_weights(files_, directory_ + "/again", *again));
  ASSERT_OK_AND_ASSIGN(const std::string one, read_file(files_, path_));
  EXPECT_THAT(read_file(files_, directory_ + "/again"), IsOkAndHolds(one));
}

TEST_F(WeightsTest, NothingThere) {
  std::unique_ptr<Trainer> fresh = model_of(2, 3);
  EXPECT_THAT(load_trainer_weights(files_, directory_ + "/none", *fresh),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr(directory_ + "/none")));
  EXPECT_THAT(load_trainer_weights(files_, directory_, *fresh),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr(path_)));
}

TEST_F(WeightsTest, OfAnotherModel) {
  ASSERT_OK(save_trainer_weights(files_, path_, *trained_));
  for (const auto& [dense, sparse] : {std::pair<int64_t, int64_t>{3, 3}, {2, 0}}) {
    std::unique_ptr<Trainer> other = model_of(dense, sparse);
    const std::string before = fingerprint(other->model());
    EXPECT_THAT(load_trainer_weights(files_, path_, *other),
                StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr(path_)));
    EXPECT_EQ(fingerprint(other->model()), before);
  }
}

TEST_F(WeightsTest, DamagedFileChangesNothing) {
  ASSERT_OK(save_trainer_weights(files_, path_, *trained_));
  ASSERT_OK_AND_ASSIGN(const std::string whole, read_file(files_, path_));
  for (const size_t size :
       {size_t{0}, size_t{7}, size_t{100}, whole.size() / 2, whole.size() - 1}) {
    ASSERT_OK(write_file_atomically(files_, path_, whole.substr(0, size)));
    std::unique_ptr<Trainer> fresh = model_of(2, 3);
    const std::string before = fingerprint(fresh->model());
    EXPECT_THAT(load_trainer_weights(files_, path_, *fresh),
                StatusIs(absl::StatusCode::kDataLoss, HasSubstr(path_)))
        << size;
    EXPECT_EQ(fingerprint(fresh->model()), before) << size;
  }
}

}  // namespace
}  // namespace millrace
