#include "job/job_checkpoints.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <utility>

#include "base/status_matchers.h"
#include "checkpoint/folder/checkpoint_list.h"
#include "framework/trainer.h"
#include "proto/config_reader.h"
#include "proto/split_bounds.h"
#include "tests/fakes/tiny_trainer.h"
#include "tests/io_testing/data_files.h"

namespace millrace {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr auto kRefused = absl::StatusCode::kFailedPrecondition;

class JobCheckpointsTest : public testing::Test {
 protected:
  JobCheckpointsTest() { config_.mutable_run()->set_output_dir(folder_ + "/out"); }

  CheckpointConfig& checkpoint() { return *config_.mutable_run()->mutable_checkpoint(); }
  // Starts a new process of the job, with its own limit.
  Trainer& start(int64_t max_steps) {
    trainer_.reset();  // with its lock
    TinyTrainerOptions options;
    options.train = {.batches = 12, .batch_size = 6, .dense = 3, .sparse = 2, .ids = 60};
    options.trainer.max_steps = max_steps;
    TrainerParts parts = tiny_parts(options);
    auto saver = create_saver(config_, files_, Clock::real());
    EXPECT_OK(saver.status());
    parts.saver = *std::move(saver);
    options.trainer.save_at_end = config_.run().checkpoint().enabled();
    auto trainer = Trainer::create(options.trainer, std::move(parts));
    EXPECT_OK(trainer.status());
    trainer_ = *std::move(trainer);
    return *trainer_;
  }
  // Trains up to a step and saves.
  void train_to(int64_t step) {
    ASSERT_OK(resume(step).status());
    ASSERT_OK(trainer_->train().status());
    trainer_.reset();
  }
  absl::StatusOr<Resumption> resume(int64_t max_steps, bool print = false) {
    Trainer& trainer = start(max_steps);
    return resume_training(config_, files_, trainer, print);
  }
  std::string path(int step) const {
    return checkpoint_folder(config_.run()) + "/step-0000000" + std::to_string(step);
  }
  // Damages a byte of the rows.
  void damage(int step) {
    const std::string name = path(step) + "/table-items-00000-of-00001.safetensors";
    ASSERT_OK_AND_ASSIGN(std::string content, read_file(files_, name));
    content[content.size() - 5] ^= 1;
    ASSERT_OK(write_file_atomically(files_, name, content));
  }
  // Returns the log lines of `call`.
  template <typename Call>
  static std::string logged(const Call& call) {
    testing::internal::CaptureStderr();
    call();
    return testing::internal::GetCapturedStderr();
  }

  FileSystem& files_ = FileSystem::local();
  const std::string folder_ = fresh_test_dir();
  JobConfig config_;
  std::unique_ptr<Trainer> trainer_;
};

TEST_F(JobCheckpointsTest, CadenceAndFolder) {
  EXPECT_EQ(checkpoint_folder(config_.run()), folder_ + "/out/checkpoints");
  EXPECT_EQ(checkpoint_cadence(checkpoint()).every_steps, 1000);
  EXPECT_EQ(checkpoint_cadence(checkpoint()).every_windows, 1);
  checkpoint().mutable_when()->set_every_epochs(2);
  EXPECT_EQ(checkpoint_cadence(checkpoint()).every_steps, 0) << "all of it is replaced";
  EXPECT_EQ(checkpoint_cadence(checkpoint()).every_epochs, 2);
}

// Both runs write logs and metrics to the directory, even if neither saves.
TEST_F(JobCheckpointsTest, OneRunAtATimeInADirectory) {
  for (const bool first_saves : {false, true}) {
    for (const bool second_saves : {false, true}) {
      std::filesystem::remove_all(folder_ + "/out");
      checkpoint().set_enabled(first_saves);
      ASSERT_OK(resume(3).status());
      const std::unique_ptr<Trainer> first = std::move(trainer_);
      checkpoint().set_enabled(second_saves);
      ASSERT_OK(resume(3).status());
      ASSERT_OK(first->train().status());
      EXPECT_THAT(trainer_->train().status(),
                  StatusIs(kRefused, AllOf(HasSubstr("another run writes in " + folder_ + "/out"),
                                           HasSubstr("pid"))));
      EXPECT_EQ(trainer_->progress().step, 0) << "refused before its first step";
    }
  }
}

TEST_F(JobCheckpointsTest, ARunThatDoesNotSaveLeavesNoCheckpoints) {
  checkpoint().set_enabled(false);
  train_to(3);
  EXPECT_TRUE(std::filesystem::exists(folder_ + "/out/lock"));
  EXPECT_FALSE(std::filesystem::exists(checkpoint_folder(config_.run())));
  train_to(3);  // its lock went with it
}

// A run without resume checks the directory again under the lock.
TEST_F(JobCheckpointsTest, WhatAnotherRunSavedMeanwhileIsFoundBeforeTheFirstStep) {
  for (const int64_t step : {2, 4}) train_to(step);
  const std::string elsewhere = path(2);
  config_.mutable_run()->set_output_dir(folder_ + "/branch");
  for (const std::string& from : {std::string("never"), elsewhere, path(3), std::string("off")}) {
    SCOPED_TRACE(from);
    std::filesystem::remove_all(folder_ + "/branch");
    if (from == path(3)) train_to(3);
    config_.mutable_run()->set_resume(from == "off" ? "auto" : from);
    checkpoint().set_enabled(from != "off");
    ASSERT_OK(resume(9).status());
    const std::unique_ptr<Trainer> waiting = std::move(trainer_);
    const int64_t stood = waiting->progress().step;
    config_.mutable_run()->clear_resume();
    checkpoint().clear_enabled();
    train_to(5);
    EXPECT_THAT(waiting->train().status(),
                StatusIs(kRefused, AllOf(HasSubstr("another run has saved " + path(5)),
                                         HasSubstr("start again"))));
    EXPECT_EQ(waiting->progress().step, stood);
    EXPECT_OK(resume(9).status()) << "it holds no lock";
  }
}

TEST_F(JobCheckpointsTest, OptionsThatCannotBe) {
  checkpoint().set_write_threads(0);
  EXPECT_THAT(create_saver(config_, files_, Clock::real()).status(),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       AllOf(HasSubstr("run.checkpoint"), HasSubstr("write_threads"))));
}

TEST_F(JobCheckpointsTest, RetentionIsThatOfTheConfiguration) {
  checkpoint().set_keep_last(2);
  for (const int64_t step : {1, 2, 3, 4}) train_to(step);
  ASSERT_OK_AND_ASSIGN(const auto listed,
                       list_checkpoints(files_, checkpoint_folder(config_.run())));
  ASSERT_EQ(listed.size(), 2);
  EXPECT_EQ(listed[0].step, 3);
}

TEST_F(JobCheckpointsTest, AutoBeginsAnewOrGoesOn) {
  ASSERT_OK_AND_ASSIGN(const Resumption anew, resume(3));
  EXPECT_EQ(anew.from, std::nullopt);
  EXPECT_FALSE(std::filesystem::exists(folder_ + "/out")) << "nothing is written before a step";
  train_to(3);
  const std::string text = logged([&] {
    ASSERT_OK_AND_ASSIGN(const Resumption on, resume(5, /*print=*/true));
    ASSERT_TRUE(on.from.has_value());
    EXPECT_EQ(on.from->path, path(3));
    EXPECT_EQ(on.finished, std::nullopt);
    EXPECT_EQ(trainer_->progress().step, 3);
  });
  EXPECT_THAT(text, HasSubstr("resuming from " + path(3) + ": step 3, 18 examples"));
  EXPECT_EQ(logged([&] { ASSERT_OK(resume(5).status()); }), "") << "another rank says nothing";
  ASSERT_OK_AND_ASSIGN(const Resumption finished, resume(3));
  EXPECT_EQ(finished.finished, "completed");
}

TEST_F(JobCheckpointsTest, ExamplesKeepTheirPartsOverVersions) {
  TrainConfig& train = *config_.mutable_train();
  train.mutable_train_data()->mutable_split()->set_to(0.9);
  use_file_names(&train);
  const auto keep = [&] {
    keep_split_rule(read_saved_data_rules(files_, resumed_path(config_.run())), /*print=*/true,
                    &train);
  };
  keep();
  EXPECT_EQ(train.split_rule(), TrainConfig::FILE_NAME) << "there is no checkpoint";
  train.clear_split_rule();  // as in a checkpoint of an earlier version
  train_to(3);
  use_file_names(&train);
  config_.mutable_run()->set_resume("never");
  keep();
  EXPECT_EQ(train.split_rule(), TrainConfig::FILE_NAME) << "the run begins anew";
  config_.mutable_run()->clear_resume();
  keep();
  EXPECT_EQ(train.split_rule(), TrainConfig::FILE_NUMBER);
  EXPECT_OK(resume(4).status()) << "it is the same job";
}

TEST_F(JobCheckpointsTest, BeginningAnewWhereThereAreCheckpointsIsRefused) {
  train_to(3);
  config_.mutable_run()->set_resume("never");
  EXPECT_THAT(resume(5).status(),
              StatusIs(kRefused, AllOf(HasSubstr("since run.resume is never"),
                                       HasSubstr("the newest of step 3"), HasSubstr("auto"))));
  config_.mutable_run()->set_resume("auto");
  checkpoint().set_enabled(false);
  EXPECT_THAT(resume(5).status(),
              StatusIs(kRefused, HasSubstr("since run.checkpoint.enabled is false")));
  std::filesystem::remove_all(checkpoint_folder(config_.run()));
  EXPECT_OK(resume(5).status());
}

TEST_F(JobCheckpointsTest, FromAPath) {
  for (const int64_t step : {2, 4}) train_to(step);
  config_.mutable_run()->set_resume(path(2));
  EXPECT_THAT(resume(6).status(),
              StatusIs(kRefused, AllOf(HasSubstr("cannot resume from " + path(2)),
                                       HasSubstr("the newest of step 4"))));
  const std::string first = config_.run().output_dir();
  config_.mutable_run()->set_resume(first);
  ASSERT_OK_AND_ASSIGN(const Resumption here, resume(6));
  EXPECT_EQ(here.from->progress.step, 4) << "the newest of its own is no other beginning";
  config_.mutable_run()->set_output_dir(folder_ + "/branch");
  config_.mutable_run()->set_resume(first + "/checkpoints/step-00000002");
  ASSERT_OK_AND_ASSIGN(const Resumption branch, resume(6));
  EXPECT_EQ(branch.from->progress.step, 2);
  config_.mutable_run()->set_resume("latest");
  EXPECT_THAT(resume(6).status(),
              StatusIs(absl::StatusCode::kNotFound,
                       AllOf(HasSubstr("auto, never or the path"), HasSubstr("latest"))));
}

TEST_F(JobCheckpointsTest, DamageIsPassedOverWithOneLineOrRefused) {
  for (const int64_t step : {2, 4}) train_to(step);
  damage(4);
  const std::string first = config_.run().output_dir();
  const std::string damaged = path(4), whole = path(2);
  for (const std::string& from : {std::string("auto"), first}) {
    if (from == first) config_.mutable_run()->set_output_dir(folder_ + "/branch");
    config_.mutable_run()->set_resume(from);
    const std::string text = logged([&] {
      ASSERT_OK_AND_ASSIGN(const Resumption on, resume(6, /*print=*/true));
      EXPECT_EQ(on.from->path, whole);
    });
    EXPECT_THAT(text, AllOf(HasSubstr("passed over: "), HasSubstr(damaged), HasSubstr(whole)));
    EXPECT_EQ(text.find(damaged), text.rfind(damaged)) << text;
    checkpoint().set_on_damage(CheckpointConfig::STRICT);
    EXPECT_THAT(resume(6).status(), StatusIs(absl::StatusCode::kDataLoss,
                                             AllOf(HasSubstr("STRICT"), HasSubstr(damaged))));
    checkpoint().clear_on_damage();
  }
}

TEST_F(JobCheckpointsTest, WhatCannotBeWrittenIsFoundFirst) {
  std::filesystem::create_directories(config_.run().output_dir());
  ASSERT_OK(write_file_atomically(files_, checkpoint_folder(config_.run()), "mine"));
  EXPECT_THAT(resume(3).status(),
              StatusIs(absl::StatusCode::kPermissionDenied,
                       HasSubstr(checkpoint_folder(config_.run()) + " is no directory")));
}

TEST_F(JobCheckpointsTest, LoadsTheNewestModelThatIsWhole) {
  for (const int64_t step : {2, 4}) train_to(step);
  const std::string output_dir = config_.run().output_dir();
  const auto load = [&](const std::string& from, bool print) {
    return load_model(config_.train(), files_, from, ModelWeights::kTrained, start(9), print);
  };
  std::string text = logged([&] {
    ASSERT_OK_AND_ASSIGN(const LoadedModel newest, load(output_dir, true));
    EXPECT_EQ(newest.path, path(4));
    EXPECT_EQ(newest.progress.step, 4);
  });
  EXPECT_THAT(text, AllOf(HasSubstr("loaded " + path(4) + ": step 4, 24 examples"),
                          Not(HasSubstr("passed over"))));
  EXPECT_EQ(trainer_->progress().step, 0) << "the model alone";
  damage(4);
  text = logged([&] {
    ASSERT_OK_AND_ASSIGN(const LoadedModel older, load(output_dir, true));
    EXPECT_EQ(older.path, path(2));
  });
  EXPECT_THAT(
      text, AllOf(HasSubstr("passed over: "), HasSubstr(path(4)), HasSubstr("loaded " + path(2))));
  EXPECT_EQ(logged([&] { ASSERT_OK(load(output_dir, false).status()); }), "");
  EXPECT_THAT(load(path(4), true).status(), StatusIs(absl::StatusCode::kDataLoss));
  damage(2);
  EXPECT_THAT(load(output_dir, true).status(),
              StatusIs(absl::StatusCode::kDataLoss, HasSubstr("is whole")));
  EXPECT_THAT(load(folder_ + "/none", true).status(), StatusIs(absl::StatusCode::kNotFound));
}

TEST_F(JobCheckpointsTest, AnotherModelIsNotPassedOver) {
  for (const int64_t step : {2, 4}) train_to(step);
  TinyTrainerOptions wider;
  wider.train = {.batches = 12, .batch_size = 6, .dense = 4, .sparse = 2, .ids = 60};
  const std::unique_ptr<Trainer> other = tiny_trainer(wider);
  EXPECT_THAT(load_model(config_.train(), files_, config_.run().output_dir(),
                         ModelWeights::kTrained, *other, false)
                  .status(),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       AllOf(HasSubstr(path(4)), HasSubstr("another model"))));
}

TEST_F(JobCheckpointsTest, AModelThatWasNotSavedAsAWholeIsNotUsed) {
  checkpoint().add_exclude("items");
  train_to(2);
  EXPECT_THAT(load_model(config_.train(), files_, path(2), ModelWeights::kTrained, start(9), false)
                  .status(),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       AllOf(HasSubstr(path(2)), HasSubstr("saved without items"),
                             HasSubstr("train.model_bank"))));
  checkpoint().clear_exclude();
  const std::string text = logged([&] {
    ASSERT_OK_AND_ASSIGN(const Resumption on, resume(4, /*print=*/true));
    EXPECT_EQ(on.from->path, path(2));
  });
  EXPECT_THAT(text, HasSubstr("without items, which begin anew"));
}

TEST_F(JobCheckpointsTest, AnotherVocabularyIsRefused) {
  const std::string words = folder_ + "/words";
  ASSERT_OK(write_file_atomically(files_, words, "x\ny\n"));
  FeatureConfig& feature = *config_.mutable_train()->add_feature();
  feature.set_name("a");
  feature.add_transform()->mutable_vocabulary()->set_path(words);
  train_to(2);
  EXPECT_OK(load_model(config_.train(), files_, path(2), ModelWeights::kTrained, start(9), false)
                .status());
  ASSERT_OK(write_file_atomically(files_, words, "y\nx\n"));
  const auto refused = StatusIs(absl::StatusCode::kInvalidArgument,
                                AllOf(HasSubstr(words), HasSubstr("feature/a/transform/0")));
  EXPECT_THAT(load_model(config_.train(), files_, path(2), ModelWeights::kTrained, start(9), false)
                  .status(),
              refused);
  EXPECT_THAT(resume(4).status(), refused);
}

}  // namespace
}  // namespace millrace
