// The conformance suite of file readers: each case runs for every format.
#include "io/file_reader.h"

#include <sys/stat.h>

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/file_system.h"
#include "base/random/philox.h"
#include "base/status_matchers.h"
#include "tests/io_testing/data_files.h"

namespace millrace {
namespace {

using ::testing::AnyOf;
using ::testing::HasSubstr;

// Columns that hold lists, plain values and missing ones, of all types.
TestTable mixed_table(int64_t rows) {
  TestColumn::Rows<int64_t> plain(rows), list(rows);
  TestColumn::Rows<double> number(rows), numbers(rows);
  TestColumn::Rows<std::string> text(rows), texts(rows);
  for (int64_t row = 0; row < rows; ++row) {
    plain[row] = {row * 1000003 - 7};
    for (int64_t k = 0; k < row % 4; ++k) list[row].push_back(row * 10 + k);
    if (row % 5 != 0) number[row] = {static_cast<double>(row) / 8};
    if (row % 3 == 0) numbers[row] = {0.5, -1.5};
    if (row % 7 != 2) text[row] = {absl::StrCat("text ", row)};
    for (int64_t k = 0; k < row % 3; ++k) texts[row].push_back(absl::StrCat("t", row, "x", k));
  }
  return {{{"plain", plain, false},
           {"list", list, true},
           {"number", number, false},
           {"numbers", numbers, true},
           {"text", text, false},
           {"texts", texts, true}}};
}

const std::vector<ValueType> kTypes = {ValueType::kInt64,  ValueType::kInt64,  ValueType::kDouble,
                                       ValueType::kDouble, ValueType::kString, ValueType::kString};

// The values of one row as text.
std::string cell(const Column& column, int64_t row) {
  std::string text;
  for (int64_t i = column.begin(row); i < column.end(row); ++i) {
    switch (column.type) {
      case ValueType::kInt64: absl::StrAppend(&text, column.int64s[i], ";"); break;
      case ValueType::kDouble: absl::StrAppend(&text, column.doubles[i], ";"); break;
      default: absl::StrAppend(&text, column.strings[i], ";");
    }
  }
  return text;
}

std::string cell(const TestColumn& column, int64_t row) {
  std::string text;
  std::visit(
      [&](const auto& rows) {
        for (const auto& value : rows[row]) absl::StrAppend(&text, value, ";");
      },
      column.rows);
  return text;
}

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

TEST_P(FileReaderTest, ReadsEveryTypeOfColumn) {
  const TestTable table = mixed_table(100);
  write(table, 30);
  ASSERT_OK_AND_ASSIGN(const auto reader, open());
  EXPECT_EQ(reader->path(), path_);
  ASSERT_EQ(reader->columns().size(), 6u);
  std::vector<ColumnRequest> requests;
  for (int c = 0; c < 6; ++c) {
    EXPECT_EQ(reader->columns()[c].name, table.columns[c].name);
    EXPECT_THAT(reader->columns()[c].type, AnyOf(kTypes[c], ValueType::kText));
    requests.push_back({.column = c, .as = kTypes[c]});
  }
  int64_t first = 0;
  for (size_t group = 0; group < reader->group_rows().size(); ++group) {
    const int64_t count = reader->group_rows()[group];
    ASSERT_OK_AND_ASSIGN(const auto columns,
                         reader->read({static_cast<int64_t>(group), 0, count}, requests));
    for (int c = 0; c < 6; ++c) {
      ASSERT_EQ(columns[c].rows, count);
      ASSERT_EQ(columns[c].type, kTypes[c]);
      for (int64_t row = 0; row < count; ++row) {
        ASSERT_EQ(cell(columns[c], row), cell(table.columns[c], first + row)) << c << " " << row;
      }
    }
    first += count;
  }
  EXPECT_EQ(first, 100);
}

TEST_P(FileReaderTest, ReadsAnyRangeOfSomeColumnsInAnyOrder) {
  const TestTable table = mixed_table(200);
  write(table);
  ASSERT_OK_AND_ASSIGN(const auto reader, open());
  ASSERT_EQ(reader->group_rows().size(), 1u);
  for (int trial = 0; trial < 40; ++trial) {
    const int64_t begin = philox64(1, 0, trial) % 200;
    const int64_t count = 1 + philox64(1, 1, trial) % (200 - begin);
    const int64_t c = trial / 8;  // the same columns several times, then others
    const std::vector<ColumnRequest> requests = {{5 - c, kTypes[5 - c]}, {c, kTypes[c]}};
    ASSERT_OK_AND_ASSIGN(const auto columns, reader->read({0, begin, count}, requests));
    ASSERT_EQ(columns.size(), 2u);
    for (int64_t row = 0; row < count; ++row) {
      ASSERT_EQ(cell(columns[0], row), cell(table.columns[5 - c], begin + row));
      ASSERT_EQ(cell(columns[1], row), cell(table.columns[c], begin + row));
    }
  }
}

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
      ASSERT_EQ(cell(columns[0], row), cell(table.columns[0], begin + row));
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

// Reads everything. Returns: the first error.
absl::Status read_all(FileReader& reader) {
  std::vector<ColumnRequest> requests;
  for (size_t c = 0; c < reader.columns().size(); ++c) {
    requests.push_back({static_cast<int64_t>(c), kTypes[c]});
  }
  for (size_t group = 0; group < reader.group_rows().size(); ++group) {
    RETURN_IF_ERROR(
        reader.read({static_cast<int64_t>(group), 0, reader.group_rows()[group]}, requests)
            .status());
  }
  return absl::OkStatus();
}

TEST_P(FileReaderTest, TruncatedAnywhere) {
  write(mixed_table(2000), 500);
  ASSERT_OK_AND_ASSIGN(const std::string whole, read_file(FileSystem::local(), path_));
  for (int trial = 0; trial < damaged_files(); ++trial) {
    // Also next to the end, where the footer is.
    const size_t size =
        trial >= 10 ? philox64(2, 0, trial) % whole.size() : whole.size() - trial - 1;
    ASSERT_OK(write_file_atomically(FileSystem::local(), path_, whole.substr(0, size)));
    const auto reader = open();
    const absl::Status status = reader.ok() ? read_all(**reader) : reader.status();
    if (in_lines_or_records() && status.ok()) continue;  // between two rows, or within a cell
    EXPECT_THAT(status, StatusIs(absl::StatusCode::kDataLoss, HasSubstr(path_))) << size;
    EXPECT_THAT(status.message(), testing::Not(HasSubstr("\n")));
  }
}

TEST_P(FileReaderTest, DamagedBytesNeverCrash) {
  write(mixed_table(2000), 500);
  ASSERT_OK_AND_ASSIGN(const std::string whole, read_file(FileSystem::local(), path_));
  for (int trial = 0; trial < damaged_files(); ++trial) {
    std::string damaged = whole;
    // The middle is data, the end is metadata.
    const size_t span = trial % 2 == 0 ? whole.size() : std::min<size_t>(whole.size(), 400);
    const size_t place = whole.size() - 1 - philox64(3, 0, trial) % span;
    damaged[place] = static_cast<char>(damaged[place] ^ (1 << (philox64(3, 1, trial) % 8)));
    ASSERT_OK(write_file_atomically(FileSystem::local(), path_, damaged));
    const auto reader = open();
    // Not every flipped bit can be seen where there are no checksums; it is enough to come back.
    if (!reader.ok() || (*reader)->columns().size() != 6) continue;
    const absl::Status status = read_all(**reader);
    if (GetParam() == DataConfig::TFRECORD) {
      EXPECT_THAT(status, StatusIs(absl::StatusCode::kDataLoss, HasSubstr(path_))) << place;
    }
  }
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

TEST(OpenFileTest, FormatByExtensionOrByName) {
  const std::string path = fresh_test_dir() + "/data.txt";
  ASSERT_OK(write_data_file(mixed_table(3), DataConfig::CSV, 0, path));
  DataConfig config;
  EXPECT_THAT(open_file(FileSystem::local(), path, config),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr(".libsvm .orc .parquet")));
  config.set_format(DataConfig::CSV);
  EXPECT_OK(open_file(FileSystem::local(), path, config));
}

}  // namespace
}  // namespace millrace
