#include "io/look/file_guess.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <string>

#include "absl/strings/str_cat.h"
#include "base/status_matchers.h"
#include "tests/io_testing/data_files.h"

namespace millrace {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class FileGuessTest : public testing::Test {
 protected:
  absl::StatusOr<DataConfig> guess(const std::string& name, const std::string& content) {
    path_ = join_path(directory_, name);
    std::ofstream(path_, std::ios::binary) << content;
    return guess_file(FileSystem::local(), path_);
  }

  const std::string directory_ = fresh_test_dir();
  std::string path_;
};

TEST_F(FileGuessTest, TextWithAHeader) {
  ASSERT_OK_AND_ASSIGN(const DataConfig config, guess("a.csv", "user,click\n1,0\n"));
  EXPECT_FALSE(config.has_csv()) << "all is as by default";
  EXPECT_FALSE(config.has_format());
  EXPECT_EQ(format_name(config, path_), "CSV with a header");
}

TEST_F(FileGuessTest, TabsAndOtherDelimiters) {
  ASSERT_OK_AND_ASSIGN(const DataConfig tabs, guess("a.tsv", "user\tclick,s\n1\t0\n"));
  EXPECT_EQ(tabs.csv().delimiter(), "\t");
  ASSERT_OK_AND_ASSIGN(const DataConfig bars, guess("a.csv", "user|click|b\n1|0|2\n"));
  EXPECT_EQ(bars.csv().delimiter(), "|");
}

TEST_F(FileGuessTest, TextWithoutAHeaderGetsNames) {
  ASSERT_OK_AND_ASSIGN(const DataConfig config, guess("a.tsv", "0\t17\t\tab\r\n1\t2\t3\tc\r\n"));
  EXPECT_THAT(config.csv().column(), ElementsAre("column_1", "column_2", "column_3", "column_4"));
  EXPECT_EQ(format_name(config, path_), "TSV without a header");
  ASSERT_OK_AND_ASSIGN(const DataConfig repeated, guess("b.csv", "a,b,a\nc,d,e\n"));
  EXPECT_EQ(repeated.csv().column_size(), 3) << "equal cells are no names";
}

TEST_F(FileGuessTest, NamesThatAreEmptyOrEqualAreAHeaderAboveNumbers) {
  for (const char* text :
       {",user,label\n0,7,1\n1,8,0\n", "x,label,x\n,1,3\nNA,0,4\n", "label,,\n1,a,b\n0,c,d\n"}) {
    ASSERT_OK_AND_ASSIGN(const DataConfig config, guess("a.csv", text));
    EXPECT_THAT(config.csv().column(), IsEmpty()) << text;
  }
  for (const char* text :
       {",,ab\n1,2,cd\n", "NA,NA,ab\n1,2,cd\n", "a,a,b\nc,d,e\n", "a,a,2\n1,2,3\n", "a,a\n"}) {
    ASSERT_OK_AND_ASSIGN(const DataConfig config, guess("b.csv", text));
    EXPECT_FALSE(config.csv().column().empty()) << text;
  }
}

TEST_F(FileGuessTest, BooleansDatesAndDecimalCommasAreNoNames) {
  for (const char* text :
       {",user,clicked\n0,u1,True\n", "x;x;price\na;b;1,5\n", "x,x,day\na,b,2024-01-31\n",
        "x,x,at\na,b,2024-01-31 10:00\n", ",user,item\n3,u1,i1\n7,u2,i2\n"}) {
    ASSERT_OK_AND_ASSIGN(const DataConfig config, guess("a.csv", text));
    EXPECT_THAT(config.csv().column(), IsEmpty()) << text;
  }
  for (const char* text :
       {"u1,True\nu2,False\n", "u1;1,5\nu2;2,5\n", "u1,2024-01-31\nu2,2024-02-01\n",
        ",a,b\nx,c,d\n", ",a,a\n1,c,d\n", ",,a\n1,2,c\n", ",NA,a\n1,b,c\n"}) {
    ASSERT_OK_AND_ASSIGN(const DataConfig config, guess("b.csv", text));
    EXPECT_FALSE(config.csv().column().empty()) << text;
  }
}

TEST_F(FileGuessTest, ALineThatNamesTheSeparatorSaysTheDelimiter) {
  ASSERT_OK_AND_ASSIGN(const DataConfig config,
                       guess("a.csv", "\xef\xbb\xbfsep=;\r\nuser,name;label\r\na,b,c;1\r\n"));
  EXPECT_EQ(config.csv().delimiter(), ";");
  EXPECT_THAT(config.csv().column(), IsEmpty());
}

TEST_F(FileGuessTest, RefusesOtherEncodingsAndLineEnds) {
  const std::string utf16(
      "\xff\xfe"
      "a\0,\0b\0\n\0",
      10);
  for (const char* name : {"a.csv", "a.dat"}) {
    EXPECT_THAT(guess(name, utf16),
                StatusIs(absl::StatusCode::kDataLoss, AllOf(HasSubstr(name), HasSubstr("UTF-16"))));
    EXPECT_THAT(guess(name, "a,b\r1,2\r"),
                StatusIs(absl::StatusCode::kDataLoss,
                         AllOf(HasSubstr(name), HasSubstr("carriage returns alone"))));
  }
}

TEST_F(FileGuessTest, QuotedCellsAreNeitherDelimitersNorLineEnds) {
  ASSERT_OK_AND_ASSIGN(
      const DataConfig config,
      guess("a.csv", "\"name, of; the\nuser\";\"a \"\"b, c\"\", d\"\n\"x\";\"1\"\n"));
  EXPECT_EQ(config.csv().delimiter(), ";");
  EXPECT_THAT(config.csv().column(), IsEmpty());
  EXPECT_FALSE(config.csv().has_literal_quotes());
  ASSERT_OK_AND_ASSIGN(const DataConfig numbers, guess("b.csv", "\"1\",\"a,b\",\"2\"\r\n"));
  EXPECT_EQ(numbers.csv().column_size(), 3);
  ASSERT_OK_AND_ASSIGN(const DataConfig typed, guess("c.csv", "\"user:token\",\"x:float\"\nu,1\n"));
  EXPECT_EQ(typed.csv().header(), CsvConfig::TYPED);
}

TEST_F(FileGuessTest, QuotesAreLiteralIfMostCellsAreNotQuotedOnes) {
  ASSERT_OK_AND_ASSIGN(const DataConfig inches,
                       guess("a.csv", "size,n\n\"5\" pipe\",1\n\"2\" pipe\",2\n\"pipe\",3\n"));
  EXPECT_TRUE(inches.csv().literal_quotes());
  ASSERT_OK_AND_ASSIGN(const DataConfig endless, guess("b.csv", "size,n\n\"5,1\n6,2\n"));
  EXPECT_TRUE(endless.csv().literal_quotes());
  ASSERT_OK_AND_ASSIGN(const DataConfig header, guess("c.csv", "\"size;n\n5;1\n"));
  EXPECT_TRUE(header.csv().literal_quotes());
  EXPECT_EQ(header.csv().delimiter(), ";");
  EXPECT_THAT(header.csv().column(), IsEmpty());
  ASSERT_OK_AND_ASSIGN(const DataConfig one,
                       guess("d.csv", "size,n\n\"5\" pipe\",1\n\"pipe\",2\n\"pipe\",3\n"));
  EXPECT_FALSE(one.csv().literal_quotes()) << "one bad cell of three";
}

TEST_F(FileGuessTest, AQuotedCellMayEndBehindTheFirstBytes) {
  std::string rows;
  for (int i = 0; i < 400000; ++i) absl::StrAppend(&rows, i, ",x\n");
  ASSERT_GT(rows.size(), 3 << 20);
  ASSERT_OK_AND_ASSIGN(const DataConfig endless, guess("a.csv", "n,s\n1,\"5\n" + rows));
  EXPECT_TRUE(endless.csv().literal_quotes());
  ASSERT_OK_AND_ASSIGN(const DataConfig ends,
                       guess("b.csv", "n,s\n1,\"5\n" + rows + "\"\n" + rows));
  EXPECT_FALSE(ends.csv().literal_quotes());
  std::string six_times;
  for (int i = 0; i < 6; ++i) six_times += rows;
  ASSERT_GT(six_times.size(), 16 << 20);
  ASSERT_OK_AND_ASSIGN(const DataConfig late, guess("c.csv", "n,s\n1,\"5\n" + six_times + "\"\n"));
  EXPECT_TRUE(late.csv().literal_quotes()) << "the row would be too long";
}

TEST_F(FileGuessTest, BlankLinesAlone) {
  ASSERT_OK_AND_ASSIGN(const DataConfig config, guess("a.csv", "\n\r\n"));
  EXPECT_EQ(config.csv().column_size(), 1);
}

TEST_F(FileGuessTest, ATypedHeaderTellsTheFormatOfAnyExtension) {
  ASSERT_OK_AND_ASSIGN(const DataConfig config,
                       guess("a.inter", "\xef\xbb\xbfuser_id:token\trating:float\n1\t3\n"));
  EXPECT_EQ(config.format(), DataConfig::CSV);
  EXPECT_EQ(config.csv().header(), CsvConfig::TYPED);
  EXPECT_EQ(config.csv().delimiter(), "\t");
  EXPECT_THAT(config.csv().column(), IsEmpty());
}

TEST_F(FileGuessTest, ContentTellsTheFormatWithoutAnExtension) {
  for (const auto format : {DataConfig::ORC, DataConfig::PARQUET}) {
    const std::string path = join_path(directory_, "part-0");
    ASSERT_OK(write_data_file(criteo_like_table(10, 1, 1), format, 0, path));
    ASSERT_OK_AND_ASSIGN(const DataConfig config, guess_file(FileSystem::local(), path));
    EXPECT_EQ(config.format(), format);
  }
}

TEST_F(FileGuessTest, LibffmHasFields) {
  ASSERT_OK_AND_ASSIGN(const DataConfig ffm, guess("a.libsvm", "1 0:7:1 3:2:0.5\n0 2:1:1\n"));
  EXPECT_EQ(ffm.libsvm().fields(), 4);
  ASSERT_OK_AND_ASSIGN(const DataConfig svm, guess("b.libsvm", "1 7:1 2:0.5\n"));
  EXPECT_FALSE(svm.has_libsvm());
  EXPECT_EQ(format_name(svm, path_), "libsvm");
}

TEST_F(FileGuessTest, RefusesWhatItDoesNotKnow) {
  EXPECT_THAT(guess("a.csv.gz", std::string("\x1f\x8b\x08\0\1", 5)),
              StatusIs(absl::StatusCode::kDataLoss,
                       AllOf(HasSubstr("a.csv.gz"), HasSubstr("compressed with gzip; unpack it"))));
  EXPECT_THAT(guess("a.csv", "PK\x03\x04"),
              StatusIs(absl::StatusCode::kDataLoss, HasSubstr("compressed with zip")));
  EXPECT_THAT(guess("a.bin", std::string("\x1f\x8b\x01\0\1", 5)),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       AllOf(HasSubstr("a.bin"), HasSubstr("cannot tell the format"))));
  EXPECT_THAT(guess("b.bin", std::string("\x1f\x8b\0\rx", 5)),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("cannot tell the format")))
      << "a carriage return is no line end of other bytes";
  EXPECT_THAT(guess("a.txt", "a line of prose\n"),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("cannot tell the format")));
  for (const char* json : {"{\"user\": 1}\n{\"user\": 2}\n", "[\n {\"user\": 1}]\n"}) {
    EXPECT_THAT(guess("a.jsonl", json),
                StatusIs(absl::StatusCode::kInvalidArgument,
                         AllOf(HasSubstr("a.jsonl looks like JSON"), HasSubstr("Parquet"))));
  }
  EXPECT_THAT(guess("a.csv", ""), StatusIs(absl::StatusCode::kDataLoss, HasSubstr("is empty")));
  EXPECT_THAT(guess_file(FileSystem::local(), directory_),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("is a directory")));
  EXPECT_THAT(guess_file(FileSystem::local(), join_path(directory_, "none.csv")),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("none.csv")));
}

}  // namespace
}  // namespace millrace
