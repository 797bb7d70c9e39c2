#include "job/data_report.h"

#include <gtest/gtest.h>

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

}  // namespace
}  // namespace millrace
