#include "sinks/csv/csv_file.h"

#include <algorithm>
#include <limits>

#include "absl/strings/numbers.h"
#include "base/lines/line_text.h"
#include "base/memory_file_system_testing.h"
#include "base/recording_file_system_testing.h"
#include "base/status_matchers.h"

namespace millrace {
namespace {

using ::testing::ElementsAre;

TEST(CsvFileTest, Fields) {
  EXPECT_EQ(csv_field("auc"), "auc");
  EXPECT_EQ(csv_field("a,b"), "\"a,b\"");
  EXPECT_EQ(csv_field("a \"b\"\n"), "\"a \"\"b\"\"\n\"");
  for (const double value : {0.1, 1.0 / 3, 1e300, -5e-324, 7.0}) {
    double read = 0;
    EXPECT_TRUE(absl::SimpleAtod(csv_number(value), &read));
    EXPECT_EQ(read, value);
  }
  EXPECT_EQ(csv_number(0.1), "0.1");
  EXPECT_EQ(csv_number(std::numeric_limits<double>::quiet_NaN()), "nan");
  EXPECT_EQ(csv_number(-std::numeric_limits<double>::infinity()), "-inf");
}

TEST(CsvFileTest, Records) {
  absl::string_view text = "a,\"b,\"\"c\"\"\nd\",\n1\n2";
  std::vector<std::string> fields;
  ASSERT_TRUE(next_csv_record(text, fields));
  EXPECT_THAT(fields, ElementsAre("a", "b,\"c\"\nd", ""));
  ASSERT_TRUE(next_csv_record(text, fields));
  EXPECT_THAT(fields, ElementsAre("1"));
  EXPECT_FALSE(next_csv_record(text, fields)) << "the record has no end";
  EXPECT_EQ(text, "2");
}

class CsvFileOfTest : public testing::Test {
 protected:
  std::string text() { return *read_file(files_, "out/a.csv"); }
  MemoryFileSystem files_;
  CsvFile file_{files_, "out/a.csv"};
};

TEST_F(CsvFileOfTest, ColumnsKeepTheirPlaces) {
  file_.start({});
  ASSERT_OK(file_.add(1, {"loss", "auc"}, {{"auc", "0.5"}, {"loss", "2"}}));
  ASSERT_OK(file_.add(2, {"loss"}, {{"loss", "1"}}));
  EXPECT_EQ(text(), "step,loss,auc\n1,2,0.5\n2,1,\n");
  ASSERT_OK(file_.add(3, {"ne,x", "loss"}, {{"ne,x", "7"}, {"loss", "0"}}));
  ASSERT_OK(file_.add(4, {"auc"}, {{"auc", "1"}}));
  ASSERT_OK(file_.flush());
  EXPECT_EQ(text(), "step,loss,auc,\"ne,x\"\n1,2,0.5,\n2,1,,\n3,0,,7\n4,,1,\n");
}

TEST_F(CsvFileOfTest, AResumedRunReplacesLaterRows) {
  file_.start({});
  for (int step = 1; step <= 4; ++step) ASSERT_OK(file_.add(step, {"a"}, {{"a", "x"}}));
  CsvFile resumed(files_, "out/a.csv");
  resumed.start({.first_step = 2});
  ASSERT_OK(resumed.add(3, {"b"}, {{"b", "y"}}));
  EXPECT_EQ(text(), "step,a,b\n1,x,\n2,x,\n3,,y\n");
  CsvFile anew(files_, "out/a.csv");
  anew.start({});
  ASSERT_OK(anew.add(1, {"c"}, {{"c", "z"}}));
  EXPECT_EQ(text(), "step,c\n1,z\n");
}

TEST_F(CsvFileOfTest, RowsOfTheFirstStepGoByTheirSet) {
  constexpr char kRows[] =
      "step,\"a,b\",set\n1,x,late\n2,x,early\n2,\"x\n2,\",late\n2,x\n3,x,early\n";
  files_.put("out/a.csv", kRows);
  file_.start({.first_step = 2, .written = {{"early"}}}, "set");
  ASSERT_OK(file_.add(2, {"set"}, {{"set", "late"}}));
  EXPECT_EQ(text(), "step,\"a,b\",set\n1,x,late\n2,x,early\n2,,late\n");
  files_.put("out/a.csv", kRows);
  file_.start({.first_step = 2}, "set");
  ASSERT_OK(file_.add(3, {"set"}, {{"set", "late"}}));
  EXPECT_EQ(text(), "step,\"a,b\",set\n1,x,late\n2,x,early\n2,\"x\n2,\",late\n3,,late\n")
      << "what the checkpoint counts is not known";
}

TEST_F(CsvFileOfTest, AReportOfTheFirstStepGoesByTheCheckpoint) {
  for (const bool counted : {true, false}) {
    files_.put("out/a.csv", "step,a\n1,x\n2,x\n");
    file_.start({.first_step = 2, .written = {{counted ? SinkStart::kTrain : "eval"}}});
    ASSERT_OK(file_.add(3, {"a"}, {{"a", "y"}}));
    EXPECT_EQ(text(), counted ? "step,a\n1,x\n2,x\n3,y\n" : "step,a\n1,x\n3,y\n");
  }
}

TEST_F(CsvFileOfTest, AnUnfinishedRowIsRemoved) {
  ASSERT_OK(files_.create_directories("out"));
  ASSERT_OK(write_file_atomically(files_, "out/a.csv", "step,a\n1,x\n2,"));
  file_.start({.first_step = 5});
  ASSERT_OK(file_.add(6, {"a"}, {{"a", "y"}}));
  EXPECT_EQ(text(), "step,a\n1,x\n6,y\n");
}

TEST_F(CsvFileOfTest, LineFeedsWithinFields) {
  file_.start({});
  ASSERT_OK(file_.add(1, {"a\nb"}, {{"a\nb", csv_field("1\n9,")}}));
  ASSERT_OK(file_.add(2, {"a\nb", "c"}, {{"c", "2"}}));
  ASSERT_OK(file_.add(3, {"c"}, {{"c", "3"}}));
  CsvFile resumed(files_, "out/a.csv");
  resumed.start({.first_step = 2});
  ASSERT_OK(resumed.add(3, {"c"}, {{"c", "4"}}));
  EXPECT_EQ(text(), "step,\"a\nb\",c\n1,\"1\n9,\",\n2,,2\n3,,4\n");
}

TEST_F(CsvFileOfTest, AFileOfSomethingElseIsReplaced) {
  files_.put("out/a.csv", "loss,a\n1,x\n2,y\n");
  file_.start({.first_step = 5});
  ASSERT_OK(file_.add(6, {"a"}, {{"a", "z"}}));
  EXPECT_EQ(text(), "step,a\n6,z\n");
}

TEST_F(CsvFileOfTest, ALateColumnOnAFullDiskLosesNoRow) {
  file_.start({});
  ASSERT_OK(file_.add(1, {"a"}, {{"a", "x"}}));
  const std::string before = text();
  files_.set_capacity(files_.used_bytes());
  EXPECT_THAT(file_.add(2, {"a", "b"}, {{"b", "y"}}),
              StatusIs(absl::StatusCode::kResourceExhausted));
  EXPECT_EQ(text(), before);
  EXPECT_EQ(files_.list("out")->size(), 1) << "nothing is left aside";
}

TEST_F(CsvFileOfTest, TheNameOfTheFileIsDurable) {
  RecordingFileSystem files(files_);
  CsvFile file(files, "out/a.csv");
  file.start({});
  const auto directory_syncs = [&] {
    const std::vector<FileOperation> all = files.operations();
    return std::count_if(all.begin(), all.end(), [](const FileOperation& operation) {
      return operation.kind == FileOperation::Kind::kSyncDirectory && operation.path == "out";
    });
  };
  ASSERT_OK(file.add(1, {"a"}, {{"a", "x"}}));
  ASSERT_OK(file.flush());
  EXPECT_EQ(directory_syncs(), 1);
  ASSERT_OK(file.add(2, {"a"}, {{"a", "x"}}));
  ASSERT_OK(file.flush());
  EXPECT_EQ(directory_syncs(), 1) << "once";
  ASSERT_OK(file.add(3, {"b"}, {{"b", "x"}}));
  EXPECT_EQ(directory_syncs(), 2) << "the file was replaced";
}

TEST_F(CsvFileOfTest, ARemovedFileBeginsAnew) {
  for (const int64_t first_step : {0, 5}) {
    file_.start({.first_step = first_step});
    ASSERT_OK(file_.add(6, {"a", "b"}, {{"a", "x"}}));
    ASSERT_OK(remove_recursively(files_, "out"));
    ASSERT_OK(file_.flush());
    ASSERT_OK(file_.flush());
    EXPECT_FALSE(files_.info("out").ok()) << "nothing is written without a row";
    ASSERT_OK(file_.add(7, {"b"}, {{"b", "y"}}));
    ASSERT_OK(file_.add(8, {"b"}, {{"b", "z"}}));
    ASSERT_OK(file_.flush());
    EXPECT_EQ(text(), "step,b\n7,y\n8,z\n");
  }
}

}  // namespace
}  // namespace millrace
