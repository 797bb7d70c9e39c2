#include "job/data_report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/status_matchers.h"

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

TEST(DataReportTest, WindowsAreNotCounted) {
  DataReport report;
  DataSetReport& train = report.add("train_data");
  train.in_windows = true;
  EXPECT_EQ(to_string(train), "train_data: comes in windows");
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
