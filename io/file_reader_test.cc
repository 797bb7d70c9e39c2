// Checks open_file() with each format, and large and odd files. file_format_conformance_test.cc
// checks the promises of readers.
#include "io/file_reader.h"

#include <sys/stat.h>

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/file_system.h"
#include "base/status_matchers.h"
#include "io/file_format_conformance.h"
#include "tests/io_testing/data_files.h"

namespace millrace {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

class FileReaderTest : public testing::TestWithParam<DataConfig::Format> {
 protected:
  FileReaderTest() {
    config_.mutable_csv()->set_list_delimiter("|");
    path_ = absl::StrCat(fresh_test_dir(), "/data", extension_of(GetParam()));
  }

  void write(const TestTable& table, int64_t group_rows = 0) {
    ASSERT_OK(write_data_file(table, GetParam(), group_rows, path_));
    // The others say themselves which columns they have, in which order.
    for (const TestColumn& column : table.columns) {
      auto* described = config_.mutable_tfrecord()->add_column();
      described->set_name(column.name);
      described->set_type(static_cast<TfRecordConfig::Type>(column.rows.index()));
    }
  }
  absl::StatusOr<std::unique_ptr<FileReader>> open() {
    return open_file(FileSystem::local(), path_, config_);
  }

  // Such files hold nothing but rows, may end behind any of them, and have no large row groups.
  static bool in_lines_or_records() {
    return GetParam() == DataConfig::CSV || GetParam() == DataConfig::TFRECORD;
  }

  DataConfig config_;
  std::string path_;
};

TEST_P(FileReaderTest, ReadsARowGroupOfManyUnits) {
  TestColumn::Rows<int64_t> list(50000);
  for (int64_t row = 0; row < 50000; ++row) {
    for (int64_t k = 0; k < row % 3; ++k) list[row].push_back(row);
  }
  const TestTable table{{{"list", list, true}}};
  if (in_lines_or_records()) return;  // its row groups are never large
  write(table);
  ASSERT_OK_AND_ASSIGN(const auto reader, open());
  for (const int64_t begin : {33000, 0, 16000, 49000}) {
    ASSERT_OK_AND_ASSIGN(const auto columns,
                         reader->read({0, begin, 1000}, {{0, ValueType::kInt64}}));
    for (int64_t row = 0; row < 1000; ++row) {
      ASSERT_EQ(text_of_row(columns[0], row), text_of_row(table.columns[0], begin + row));
    }
  }
}

TEST_P(FileReaderTest, NoRows) {
  write(mixed_table(0));
  ASSERT_OK_AND_ASSIGN(const auto reader, open());
  int64_t rows = 0;
  for (const int64_t count : reader->group_rows()) rows += count;
  EXPECT_EQ(rows, 0);
  EXPECT_EQ(reader->columns().size(), 6u);
}

TEST_P(FileReaderTest, MissingFileAndDirectory) {
  EXPECT_THAT(open(), StatusIs(absl::StatusCode::kNotFound, HasSubstr(path_)));
  ASSERT_OK(FileSystem::local().create_directories(path_));
  EXPECT_THAT(open(),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr(path_ + " is a directory")));
}

// It would be waited for without a word, and then be found empty.
TEST_P(FileReaderTest, Pipe) {
  ASSERT_EQ(::mkfifo(path_.c_str(), 0600), 0);
  EXPECT_THAT(open(),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr(path_ + ": it is a pipe")));
}

TEST_P(FileReaderTest, TextUnderTheWrongName) {
  if (GetParam() == DataConfig::CSV) return;
  ASSERT_OK(write_file_atomically(FileSystem::local(), path_, "label,i1\n0,1\n"));
  EXPECT_THAT(open(), StatusIs(absl::StatusCode::kDataLoss, HasSubstr(path_)));
  if (in_lines_or_records()) return;
  ASSERT_OK(write_file_atomically(FileSystem::local(), path_, ""));
  EXPECT_THAT(open(), StatusIs(absl::StatusCode::kDataLoss, HasSubstr(path_)));
}

// Long lists and texts that take next to nothing in the file.
TEST_P(FileReaderTest, WhatTakesMoreThanTheCapIsRefused) {
  config_.set_max_group_bytes(8 << 20);
  TestColumn::Rows<int64_t> list(2000);
  TestColumn::Rows<std::string> text(2000);
  for (int64_t row = 0; row < 2000; ++row) {
    list[row].assign(10, 7);
    text[row] = {std::string(20000, 'x')};
  }
  const TestTable table{{{"list", list, true}, {"text", text, false}}};
  write(table);
  const auto opened = open();
  if (GetParam() == DataConfig::ORC) {  // the stripe is larger than that in the file too
    EXPECT_THAT(opened.status(),
                StatusIs(absl::StatusCode::kDataLoss,
                         testing::AllOf(HasSubstr(path_), HasSubstr("max_group_bytes"))));
    return;
  }
  ASSERT_OK(opened);
  FileReader* const reader = opened->get();
  const int64_t rows = reader->group_rows()[0];
  EXPECT_OK(reader->read({0, 0, rows}, {{0, ValueType::kInt64}}));
  if (in_lines_or_records()) return;  // their groups have at most that many bytes in the file
  EXPECT_THAT(reader->read({0, 0, rows}, {{1, ValueType::kString}}),
              StatusIs(absl::StatusCode::kDataLoss,
                       testing::AllOf(HasSubstr(path_), HasSubstr("max_group_bytes"))));
}

INSTANTIATE_TEST_SUITE_P(Formats, FileReaderTest,
                         testing::Values(DataConfig::ORC, DataConfig::PARQUET, DataConfig::CSV,
                                         DataConfig::TFRECORD),
                         [](const auto& info) { return DataConfig::Format_Name(info.param); });

TEST(OpenFileTest, GiganticFootersAreRefused) {
  for (const auto format : {DataConfig::PARQUET, DataConfig::ORC}) {
    const std::string path = absl::StrCat(fresh_test_dir(), "/data", extension_of(format));
    ASSERT_OK(write_data_file(mixed_table(50), format, 0, path));
    ASSERT_OK_AND_ASSIGN(std::string bytes, read_file(FileSystem::local(), path));
    if (format == DataConfig::PARQUET) {
      bytes.replace(bytes.size() - 8, 4, "\xff\xff\xff\x7f");
    } else {
      // A postscript of nothing but a footer of 2^62 bytes, and its length.
      bytes += "\x08" + std::string(8, '\xff') + "\x3f" + '\x0a';
    }
    ASSERT_OK(write_file_atomically(FileSystem::local(), path, bytes));
    EXPECT_THAT(open_file(FileSystem::local(), path, DataConfig()),
                StatusIs(absl::StatusCode::kDataLoss,
                         testing::AllOf(HasSubstr(path), HasSubstr(" bytes"))));
  }
}

absl::StatusOr<std::unique_ptr<FileReader>> refuse(FileSystem&, const std::string&,
                                                   const DataConfig&,
                                                   std::shared_ptr<const FileLayout>) {
  return absl::DataLossError("not of this format");
}
MILLRACE_REGISTER_FILE_FORMAT(one, "a format",
                              {.extensions = {".zone", ".zboth"}, .open = &refuse});
MILLRACE_REGISTER_FILE_FORMAT(two, "a format",
                              {.extensions = {".zboth", ".zlong.zone"}, .open = &refuse});

TEST(OpenFileTest, AFormatFromOutsideIsOpenedAndNamedAlsoByItsExtension) {
  const std::string path = fresh_test_dir() + "/a.zone";
  ASSERT_OK(write_file_atomically(FileSystem::local(), path, "x"));
  EXPECT_THAT(
      open_file(FileSystem::local(), path, DataConfig()),
      StatusIs(absl::StatusCode::kDataLoss, HasSubstr("file format \"one\": not of this format")));
}

TEST(OpenFileTest, TheLongestExtensionDecides) {
  const std::string path = fresh_test_dir() + "/a.zlong.zone";
  ASSERT_OK(write_file_atomically(FileSystem::local(), path, "x"));
  EXPECT_THAT(
      open_file(FileSystem::local(), path, DataConfig()),
      StatusIs(absl::StatusCode::kDataLoss, HasSubstr("file format \"two\": not of this format")));
}

TEST(OpenFileTest, AnExtensionOfTwoFormatsNamesBoth) {
  const std::string path = fresh_test_dir() + "/a.zboth";
  ASSERT_OK(write_file_atomically(FileSystem::local(), path, "x"));
  DataConfig config;
  EXPECT_THAT(open_file(FileSystem::local(), path, config),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       AllOf(HasSubstr("more than one file format fits: one ("), HasSubstr("two ("),
                             HasSubstr("file_reader_test.cc:"))));
  config.mutable_custom_format()->set_name("two");
  EXPECT_THAT(open_file(FileSystem::local(), path, config),
              StatusIs(absl::StatusCode::kDataLoss, HasSubstr("file format \"two\"")));
}

TEST(OpenFileTest, FormatOfAnExtension) {
  EXPECT_EQ(format_of_extension("a/b.PQ"), DataConfig::PARQUET);
  EXPECT_EQ(format_of_extension("b.tfrecord.gz"), DataConfig::TFRECORD);
  EXPECT_EQ(format_of_extension("b.zone"), DataConfig::AUTO) << "a format from outside";
  EXPECT_EQ(format_of_extension("b.zboth"), std::nullopt) << "of two formats";
  EXPECT_EQ(format_of_extension("b.txt"), std::nullopt);
}

TEST(OpenFileTest, FormatByExtensionOrByName) {
  const std::string path = fresh_test_dir() + "/data.txt";
  ASSERT_OK(write_data_file(mixed_table(3), DataConfig::CSV, 0, path));
  DataConfig config;
  EXPECT_THAT(open_file(FileSystem::local(), path, config),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr(".libsvm .orc .parquet")));
  config.set_format(DataConfig::CSV);
  EXPECT_OK(open_file(FileSystem::local(), path, config));
}

TEST(OpenFileTest, CompressedFilesAreNamedAsSuch) {
  const std::string path = fresh_test_dir() + "/data.csv.gz";
  ASSERT_OK(write_file_atomically(FileSystem::local(), path, "\x1f\x8b\x08 and more"));
  DataConfig config;
  EXPECT_THAT(open_file(FileSystem::local(), path, config),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("data.csv.gz is compressed with gzip; unpack it")));
  for (const auto format : {DataConfig::CSV, DataConfig::LIBSVM}) {
    config.set_format(format);
    EXPECT_THAT(open_file(FileSystem::local(), path, config),
                StatusIs(absl::StatusCode::kDataLoss,
                         HasSubstr("the file is compressed with gzip; unpack it")));
  }
}

}  // namespace
}  // namespace millrace
