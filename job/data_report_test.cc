#include "job/data_report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <string>

#include "base/status_matchers.h"
#include "io/data_identity.h"

namespace millrace {
namespace {

TEST(DataReportTest, SaysFilesRowsAndWhatWasLeftOut) {
  DataReport report;
  DataSetReport& train = report.add("train_data");
  train.files = 3;
  train.rows = 12000;
  EXPECT_EQ(to_string(train), "train_data: 3 files, 12000 rows");
  train.bad_files.add("in/b.csv");
  EXPECT_EQ(to_string(train),
            "train_data: 3 files, 12000 rows; 1 file left out as bad data: in/b.csv");
  DataSetReport& eval = report.add("eval_data \"eval\"");
  eval.files = 1;
  eval.rows = 1;
  EXPECT_EQ(to_string(eval), "eval_data \"eval\": 1 file, 1 row");
  EXPECT_EQ(report.sets().size(), 2u);
  EXPECT_EQ(&report.sets().front(), &train);
}

TEST(DataReportTest, SaysWhichPartIsRead) {
  DataReport report;
  DataSetReport& eval = report.add("eval_data \"eval\"");
  eval.files = 1;
  eval.rows = 12000;
  DataConfig data;
  EXPECT_EQ(part_text(data), "");
  data.mutable_split()->set_from(0.9);
  eval.part = part_text(data);
  EXPECT_EQ(to_string(eval),
            "eval_data \"eval\": 1 file, 12000 rows, of which the job reads about 10 %: split { "
            "from: 0.9 }");
  data.mutable_sample()->set_rate(0.5);
  EXPECT_EQ(part_text(data), "about 5 %: split { from: 0.9 } sample { rate: 0.5 }");
  data.mutable_sample()->set_negative_rate(0.1);
  EXPECT_THAT(part_text(data), testing::StartsWith("a part: split { from: 0.9 } sample { "));
  data.clear_sample();
  data.mutable_split()->set_by(SplitConfig::ORDER_OF_COLUMN);
  EXPECT_THAT(part_text(data), testing::StartsWith("a part: split { by: ORDER_OF_COLUMN"));
}

TEST(DataReportTest, ExamplesOfAnEpochFollowFromItsRows) {
  DataSetReport set;
  set.rows = 1001;
  DataConfig data;
  EXPECT_EQ(examples_of_epoch(set, data), 1001);
  data.mutable_split()->set_to(0.5);
  EXPECT_EQ(examples_of_epoch(set, data), 500);
  data.mutable_split()->set_by(SplitConfig::ORDER_OF_COLUMN);
  EXPECT_EQ(examples_of_epoch(set, data), 0) << "its share is not known";
  data.clear_split();
  set.in_windows = true;
  EXPECT_EQ(examples_of_epoch(set, data), 0);
  set.in_windows = false;
  data.mutable_mix();
  EXPECT_EQ(examples_of_epoch(set, data), 0);
}

TEST(DataReportTest, WindowsAreNotCounted) {
  DataReport report;
  DataSetReport& train = report.add("train_data");
  train.in_windows = true;
  EXPECT_EQ(to_string(train), "train_data: comes in windows");
}

TEST(DataReportTest, ASetWithoutExamplesNamesItsPart) {
  DataReport report;
  DataSetReport& eval = report.add("eval_data \"eval\"");
  eval.rows = 200;
  DataConfig data;
  data.mutable_split()->set_from(0.5);
  EXPECT_THAT(
      no_examples_error(eval, data, 1),
      StatusIs(absl::StatusCode::kInvalidArgument,
               "train.eval_data \"eval\": no example of its 200 rows is in the set, of "
               "which the configuration takes the part split { from: 0.5 }; take all of it with "
               "--set 'train.eval_data[1].data.split={}'"));
  data.mutable_sample()->set_rate(0.25);
  EXPECT_THAT(std::string(no_examples_error(eval, data, 0).message()),
              testing::EndsWith("split { from: 0.5 } sample { rate: 0.25 }; take all of it with "
                                "--set 'train.eval_data[0].data.split={}' --set "
                                "'train.eval_data[0].data.sample={}'"));
}

TEST(DataReportTest, FilesOfTrainingThatAreEvaluatedAreWarnedOf) {
  DataReport report;
  report.add("train_data").paths = {"a.csv", "b.csv", "c.csv"};
  report.add("eval_data \"eval\"").paths = {"x.csv", "./b.csv", "c.csv"};
  TrainConfig config;
  config.set_split_rule(TrainConfig::FILE_NAME);
  DataConfig& eval = *config.add_eval_data()->mutable_data();
  EXPECT_THAT(shared_file_warnings(report, config),
              testing::ElementsAre(testing::StartsWith(
                  "train_data and eval_data \"eval\" both read ./b.csv and 1 more, so that")));
  SplitConfig& to = *config.mutable_train_data()->mutable_split();
  to.set_to(0.9);
  EXPECT_EQ(shared_file_warnings(report, config).size(), 1u) << "the evaluation takes all";
  eval.mutable_split()->set_from(0.9);
  EXPECT_THAT(shared_file_warnings(report, config), testing::IsEmpty());
  config.set_split_rule(TrainConfig::FILE_NUMBER);
  EXPECT_THAT(shared_file_warnings(report, config),
              testing::ElementsAre(testing::HasSubstr("give other files, or the same paths")))
      << "b.csv is file 1 in both, but could be another";
  config.set_split_rule(TrainConfig::FILE_NAME);
  eval.mutable_split()->set_from(0.8);
  EXPECT_EQ(shared_file_warnings(report, config).size(), 1u);
  eval.mutable_split()->set_from(0.9);
  eval.mutable_split()->set_by(SplitConfig::HASH_OF_COLUMN);
  EXPECT_EQ(shared_file_warnings(report, config).size(), 1u) << "parts of another kind";
}

// A folder with the file a.csv and two links to it.
class LinkedFilesTest : public testing::Test {
 protected:
  void SetUp() override {
    std::filesystem::remove_all(folder_);
    ASSERT_TRUE(std::filesystem::create_directories(folder_));
    ASSERT_OK(write_file_atomically(FileSystem::local(), folder_ + "/a.csv", "label\n1\n"));
    std::filesystem::create_symlink(folder_ + "/a.csv", folder_ + "/link.csv");
    config_.set_split_rule(TrainConfig::FILE_NAME);
    config_.mutable_train_data()->mutable_split()->set_to(0.9);
    config_.add_eval_data()->mutable_data()->mutable_split()->set_from(0.9);
  }
  const std::string folder_ = testing::TempDir() + "/linked_files";
  DataReport report_;
  TrainConfig config_;
};

TEST_F(LinkedFilesTest, AFileIsTheSameUnderAnyPath) {
  report_.add("train_data").paths = {folder_ + "/a.csv", folder_ + "/./a.csv"};
  DataSetReport& eval = report_.add("eval_data \"eval\"");
  eval.paths = {folder_ + "/link.csv"};
  EXPECT_THAT(shared_file_warnings(report_, config_),
              testing::ElementsAre(testing::HasSubstr("/a.csv) twice, so that each epoch"),
                                   testing::HasSubstr("or the files the same names")));
  eval.paths = {folder_ + "/../linked_files/a.csv"};
  EXPECT_EQ(shared_file_warnings(report_, config_).size(), 1u) << "the parts are separate";
}

TEST_F(LinkedFilesTest, FilesThatAModelWasTrainedOnAreWarnedOf) {
  const std::string a = folder_ + "/a.csv", b = folder_ + "/b.csv";
  ASSERT_OK(write_file_atomically(FileSystem::local(), b, "label\n0\n0\n"));
  ASSERT_OK_AND_ASSIGN(const DataIdentity trained, data_identity(FileSystem::local(), {a}));
  report_.add("eval_data \"eval\"").paths = {a, b};
  const auto warnings = [&](const TrainConfig& now) {
    return trained_file_warnings(FileSystem::local(), trained, config_, report_, now);
  };
  EXPECT_THAT(warnings(config_), testing::IsEmpty()) << "the parts are separate";
  TrainConfig whole = config_;
  whole.mutable_eval_data(0)->mutable_data()->clear_split();
  EXPECT_THAT(warnings(whole),
              testing::ElementsAre(testing::HasSubstr("rows of 1 of the 2 files, " + a + ":")));
  config_.set_split_rule(TrainConfig::FILE_NUMBER);
  EXPECT_EQ(warnings(config_).size(), 1u) << "another list";
  ASSERT_OK(write_file_atomically(FileSystem::local(), a, "label\n1\n1\n"));
  EXPECT_THAT(warnings(whole), testing::IsEmpty()) << "another file";
}

TEST(DataReportTest, OtherFilesAreNoReasonToWarn) {
  DataReport report;
  report.add("train_data").paths = {"a.csv"};
  report.add("eval_data \"eval\"").paths = {"b.csv"};
  TrainConfig config;
  config.add_eval_data();
  EXPECT_THAT(shared_file_warnings(report, config), testing::IsEmpty());
  DataReport evaluation;
  evaluation.add("eval_data \"eval\"").paths = {"a.csv"};
  EXPECT_THAT(shared_file_warnings(evaluation, config), testing::IsEmpty());
}

TEST(DataReportTest, ColumnsOfAllSetsAreComparedWithTraining) {
  DataReport report;
  DataSetReport& train = report.add("train_data");
  DataIdentity::Column& column = *train.hashed_columns.Add();
  column.set_name("user");
  column.set_cells(DataIdentity::NUMBERS);
  column.set_file("a.orc");
  report.add("eval_data \"in windows\"");
  DataSetReport& eval = report.add("eval_data \"eval\"");
  eval.hashed_columns = train.hashed_columns;
  EXPECT_OK(check_hashed_columns(train.hashed_columns, report));
  EXPECT_OK(check_hashed_columns({}, report));
  eval.hashed_columns[0].set_cells(DataIdentity::TEXT);
  EXPECT_THAT(
      check_hashed_columns(train.hashed_columns, report),
      StatusIs(absl::StatusCode::kInvalidArgument,
               testing::StartsWith("train.eval_data \"eval\": column \"user\" holds text in ")));
}

}  // namespace
}  // namespace millrace
