#include "io/file_format_conformance.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/memory_file_system_testing.h"
#include "base/random/philox.h"
#include "base/status_macros.h"
#include "base/status_matchers.h"
#include "io/bad_rows.h"

namespace millrace {
namespace {

using ::testing::HasSubstr;

// Rows of a file, each as the text of the row's columns.
using Rows = std::vector<std::vector<std::string>>;

// A file of the format under test, in memory.
class Subject {
 public:
  Subject(const FileFormatConformance& c, ExpectedFile file)
      : c_(c), file_(std::move(file)), path_(c.directory + "/file" + c.extension) {
    set_bytes(file_.bytes);
  }
  explicit Subject(const FileFormatConformance& c) : Subject(c, c.file()) {}

  const ExpectedFile& file() const { return file_; }
  const std::string& path() const { return path_; }
  int64_t rows() const { return static_cast<int64_t>(file_.columns.at(0).rows.size()); }

  void set_bytes(std::string bytes) { files_.put(path_, std::move(bytes)); }
  void remove() { EXPECT_OK(files_.remove(path_)); }

  absl::StatusOr<std::unique_ptr<FileReader>> open(
      std::shared_ptr<const FileLayout> layout = nullptr) {
    return open_file(files_, path_, c_.config, std::move(layout));
  }
  // REQUIRES: the file is sound.
  std::unique_ptr<FileReader> reader() {
    auto opened = open();
    EXPECT_OK(opened);
    return *std::move(opened);
  }

  std::vector<ColumnRequest> requests() const {
    std::vector<ColumnRequest> requests;
    for (const ExpectedColumn& column : file_.columns) {
      requests.push_back({.column = static_cast<int64_t>(requests.size()), .as = column.as});
    }
    return requests;
  }

 private:
  const FileFormatConformance& c_;
  MemoryFileSystem files_;
  const ExpectedFile file_;
  const std::string path_;
};

// Appends rows of columns that were read.
void append(const std::vector<Column>& columns, int64_t count, Rows* rows) {
  for (const Column& column : columns) {
    ASSERT_EQ(column.rows, count);
    ASSERT_TRUE(column.offsets.empty() || static_cast<int64_t>(column.offsets.size()) == count + 1);
  }
  for (int64_t row = 0; row < count; ++row) {
    std::vector<std::string>& texts = rows->emplace_back();
    for (const Column& column : columns) texts.push_back(text_of_row(column, row));
  }
}

// True if `reader` can be asked for it; a damaged file may describe other columns.
bool is_possible(const FileReader& reader, const ColumnRequest& request) {
  if (request.column >= static_cast<int64_t>(reader.columns().size())) return false;
  const FileColumn& column = reader.columns()[request.column];
  return column.supported && (column.type == request.as || column.type == ValueType::kText);
}

// Reads all rows, group by group, of the columns that there are.
absl::StatusOr<Rows> read_all(FileReader& reader, std::vector<ColumnRequest> requests) {
  std::erase_if(requests, [&](const ColumnRequest& each) { return !is_possible(reader, each); });
  Rows rows;
  for (size_t group = 0; group < reader.group_rows().size(); ++group) {
    const RowRange range{static_cast<int64_t>(group), 0, reader.group_rows()[group]};
    ASSIGN_OR_RETURN(const std::vector<Column> columns, reader.read(range, requests));
    append(columns, range.count, &rows);
  }
  return rows;
}

Rows expected_rows(const ExpectedFile& file) {
  Rows rows(file.columns.at(0).rows.size());
  for (const ExpectedColumn& column : file.columns) {
    for (size_t row = 0; row < rows.size(); ++row) rows[row].push_back(column.rows[row]);
  }
  return rows;
}

// Opens the file and reads it. Errors: the first one.
absl::StatusOr<Rows> open_and_read(Subject& subject) {
  ASSIGN_OR_RETURN(const std::unique_ptr<FileReader> reader, subject.open());
  return read_all(*reader, subject.requests());
}

void expect_names_file(const Subject& subject, const absl::Status& status) {
  EXPECT_THAT(std::string(status.message()),
              testing::AllOf(HasSubstr(subject.path()), testing::Not(HasSubstr("\n"))));
}

void expect_data_loss(const Subject& subject, const absl::Status& status) {
  EXPECT_EQ(status.code(), absl::StatusCode::kDataLoss) << status;
  expect_names_file(subject, status);
}

void check_description(const FileFormatConformance& c) {
  Subject subject(c);
  const std::unique_ptr<FileReader> reader = subject.reader();
  EXPECT_EQ(reader->path(), subject.path());
  ASSERT_EQ(reader->columns().size(), subject.file().columns.size());
  for (size_t i = 0; i < reader->columns().size(); ++i) {
    const FileColumn& column = reader->columns()[i];
    const ExpectedColumn& expected = subject.file().columns[i];
    EXPECT_EQ(column.name, expected.name);
    EXPECT_TRUE(column.supported) << column.name;
    EXPECT_THAT(column.type, testing::AnyOf(expected.as, ValueType::kText)) << column.name;
    EXPECT_FALSE(column.type_name.empty()) << column.name;
  }
  int64_t rows = 0;
  for (const int64_t count : reader->group_rows()) {
    EXPECT_GE(count, 0);
    rows += count;
  }
  EXPECT_EQ(rows, subject.rows());
}

void check_all_rows(const FileFormatConformance& c) {
  Subject subject(c);
  const std::unique_ptr<FileReader> reader = subject.reader();
  for (const char* time : {"first", "second"}) {
    ASSERT_OK_AND_ASSIGN(const Rows rows, read_all(*reader, subject.requests()));
    EXPECT_EQ(rows, expected_rows(subject.file())) << "read the " << time << " time";
  }
}

// Reads `range`, whose first row is `first` in the file, and expects the rows of the whole.
void check_range(const Subject& subject, FileReader& reader, int64_t first, const RowRange& range,
                 const std::vector<ColumnRequest>& requests) {
  ASSERT_OK_AND_ASSIGN(const std::vector<Column> columns, reader.read(range, requests));
  ASSERT_EQ(columns.size(), requests.size());
  for (size_t i = 0; i < columns.size(); ++i) {
    const ExpectedColumn& expected = subject.file().columns[requests[i].column];
    ASSERT_EQ(columns[i].rows, range.count) << expected.name;
    ASSERT_EQ(columns[i].type, requests[i].as) << expected.name;
    for (int64_t row = 0; row < range.count; ++row) {
      ASSERT_EQ(text_of_row(columns[i], row), expected.rows[first + range.begin + row])
          << "column " << expected.name << ", row " << row << " of group " << range.group;
    }
  }
}

void check_ranges(const FileFormatConformance& c) {
  Subject subject(c);
  const std::unique_ptr<FileReader> reader = subject.reader();
  std::vector<int64_t> first_rows = {0};
  for (const int64_t count : reader->group_rows()) first_rows.push_back(first_rows.back() + count);
  const auto groups = static_cast<int64_t>(reader->group_rows().size());
  for (uint64_t trial = 0; trial < 100; ++trial) {
    const int64_t group = static_cast<int64_t>(philox64(1, 0, trial) % groups);
    const int64_t rows = reader->group_rows()[group];
    if (rows == 0) continue;
    const auto begin = static_cast<int64_t>(philox64(1, 1, trial) % rows);
    const auto count = 1 + static_cast<int64_t>(philox64(1, 2, trial) % (rows - begin));
    // The same columns several times, then others: single ones, and all in reverse.
    std::vector<ColumnRequest> requests = subject.requests();
    if (trial % 3 == 0) {
      std::reverse(requests.begin(), requests.end());
    } else {
      requests = {requests[trial / 9 % requests.size()]};
    }
    ASSERT_NO_FATAL_FAILURE(
        check_range(subject, *reader, first_rows[group], {group, begin, count}, requests));
  }
}

void check_layout(const FileFormatConformance& c) {
  Subject subject(c);
  const std::unique_ptr<FileReader> first = subject.reader();
  const std::shared_ptr<const FileLayout> layout = first->layout();
  ASSERT_OK_AND_ASSIGN(const std::unique_ptr<FileReader> second, subject.open(layout));
  EXPECT_EQ(second->path(), first->path());
  EXPECT_EQ(second->group_rows(), first->group_rows());
  ASSERT_EQ(second->columns().size(), first->columns().size());
  for (size_t i = 0; i < first->columns().size(); ++i) {
    EXPECT_EQ(second->columns()[i].name, first->columns()[i].name);
    EXPECT_EQ(second->columns()[i].type, first->columns()[i].type);
  }
  ASSERT_OK_AND_ASSIGN(const Rows rows, read_all(*second, subject.requests()));
  EXPECT_EQ(rows, expected_rows(subject.file()));
}

void check_threads(const FileFormatConformance& c) {
  Subject subject(c);
  const std::shared_ptr<const FileLayout> layout = subject.reader()->layout();
  std::vector<absl::StatusOr<Rows>> read(4, absl::UnknownError("not read"));
  call_on_threads(read, [&](auto& rows) {
    absl::StatusOr<std::unique_ptr<FileReader>> reader = subject.open(layout);
    rows = reader.ok() ? read_all(**reader, subject.requests()) : reader.status();
  });
  for (const absl::StatusOr<Rows>& rows : read) {
    ASSERT_OK(rows);
    EXPECT_EQ(*rows, expected_rows(subject.file()));
  }
}

void check_missing(const FileFormatConformance& c) {
  Subject subject(c);
  subject.remove();
  const absl::Status status = subject.open().status();
  EXPECT_EQ(status.code(), absl::StatusCode::kNotFound) << status;
  expect_names_file(subject, status);
}

// Checks a file that is shortened after opening.
void check_changed(const FileFormatConformance& c) {
  Subject subject(c);
  const std::shared_ptr<const FileLayout> layout = subject.reader()->layout();
  subject.set_bytes(subject.file().bytes.substr(0, subject.file().bytes.size() / 2));
  const auto reader = subject.open(layout);
  const absl::Status status =
      reader.ok() ? read_all(**reader, subject.requests()).status() : reader.status();
  if (!status.ok()) return expect_data_loss(subject, status);
  EXPECT_TRUE(c.may_end_anywhere) << "was read as if it were whole";
}

void check_empty(const FileFormatConformance& c) {
  Subject subject(c);
  subject.set_bytes("");
  const absl::StatusOr<Rows> rows = open_and_read(subject);
  if (!rows.ok()) return expect_data_loss(subject, rows.status());
  EXPECT_TRUE(c.may_end_anywhere || c.may_be_empty) << "an empty file is no file of this format";
  EXPECT_TRUE(rows->empty());
}

void check_truncated(const FileFormatConformance& c) {
  Subject subject(c);
  const std::string& bytes = subject.file().bytes;
  const Rows expected = expected_rows(subject.file());
  for (int trial = 0; trial < c.damaged_files; ++trial) {
    // Also next to the end, where formats have their metadata.
    const size_t size = trial < 10 ? bytes.size() - 1 - std::min<size_t>(trial, bytes.size() - 1)
                                   : philox64(2, 0, trial) % bytes.size();
    if (size == 0) continue;  // check_empty's
    SCOPED_TRACE(absl::StrCat(size, " of ", bytes.size(), " bytes"));
    subject.set_bytes(bytes.substr(0, size));
    const absl::StatusOr<Rows> rows = open_and_read(subject);
    if (!rows.ok()) {
      expect_data_loss(subject, rows.status());
      continue;
    }
    ASSERT_TRUE(c.may_end_anywhere) << "was read as if it were whole";
    ASSERT_LE(rows->size(), expected.size());
    // The last row may have been cut, and so may the line that names the columns.
    for (size_t row = 0; row + 1 < rows->size(); ++row) {
      if ((*rows)[row].size() != expected[row].size()) continue;
      ASSERT_EQ((*rows)[row], expected[row]);
    }
  }
}

void check_damaged(const FileFormatConformance& c) {
  Subject subject(c);
  const std::string& bytes = subject.file().bytes;
  for (int trial = 0; trial < c.damaged_files; ++trial) {
    // The beginning is data in most formats, the end metadata.
    const size_t span = trial % 2 == 0 ? bytes.size() : std::min<size_t>(bytes.size(), 400);
    const size_t place = bytes.size() - 1 - philox64(3, 0, trial) % span;
    SCOPED_TRACE(absl::StrCat("byte ", place, " of ", bytes.size()));
    std::string damaged = bytes;
    damaged[place] = static_cast<char>(damaged[place] ^ (1 << (philox64(3, 1, trial) % 8)));
    subject.set_bytes(damaged);
    const absl::Status status = open_and_read(subject).status();
    if (!status.ok()) expect_data_loss(subject, status);
    EXPECT_FALSE(c.has_checksums && status.ok()) << "was read as if it were whole";
  }
}

void check_foreign(const FileFormatConformance& c) {
  Subject subject(c);
  std::string noise;
  for (uint64_t i = 0; i < 4096; ++i) noise.push_back(static_cast<char>(philox64(4, 0, i)));
  for (const std::string& bytes : {noise, noise + subject.file().bytes}) {
    subject.set_bytes(bytes);
    const absl::Status status = open_and_read(subject).status();
    if (!status.ok()) expect_data_loss(subject, status);
    EXPECT_FALSE(c.has_checksums && status.ok()) << "was read as if it were whole";
  }
}

void check_bad_rows(const FileFormatConformance& c) {
  Subject subject(c, c.file_with_bad_rows());
  ASSERT_FALSE(subject.file().bad_rows.empty());
  const std::unique_ptr<FileReader> reader = subject.reader();
  const Rows expected = expected_rows(subject.file());
  std::vector<int64_t> found;
  int64_t first = 0;
  for (size_t group = 0; group < reader->group_rows().size(); ++group) {
    const RowRange range{static_cast<int64_t>(group), 0, reader->group_rows()[group]};
    BadRows bad(range.count, /*skip=*/true);
    ASSERT_OK_AND_ASSIGN(const std::vector<Column> columns,
                         reader->read(range, subject.requests(), bad));
    Rows rows;
    append(columns, range.count, &rows);
    for (int64_t row = 0; row < range.count; ++row) {
      if (bad.contains(row)) {
        found.push_back(first + row);
      } else {
        EXPECT_EQ(rows[row], expected[first + row]) << "row " << first + row;
      }
    }
    if (bad.count() > 0) expect_data_loss(subject, bad.first());
    first += range.count;
  }
  EXPECT_EQ(found, subject.file().bad_rows);
}

void check_strict(const FileFormatConformance& c) {
  Subject subject(c, c.file_with_bad_rows());
  const absl::Status status = open_and_read(subject).status();
  ASSERT_FALSE(status.ok()) << "a bad row is an error where it may not be left out";
  expect_data_loss(subject, status);
}

}  // namespace

std::string text_of_row(const Column& column, int64_t row) {
  std::string text;
  for (int64_t i = column.begin(row); i < column.end(row); ++i) {
    switch (column.type) {
      case ValueType::kInt64: absl::StrAppend(&text, column.int64s[i], ";"); break;
      case ValueType::kUint64:
        absl::StrAppend(&text, static_cast<uint64_t>(column.int64s[i]), ";");
        break;
      case ValueType::kDouble: absl::StrAppend(&text, column.doubles[i], ";"); break;
      case ValueType::kString:
      case ValueType::kText: absl::StrAppend(&text, column.strings[i], ";"); break;
    }
  }
  return text;
}

std::vector<Property> file_format_properties(const FileFormatConformance& conformance) {
  const auto property = properties_of(conformance);
  std::vector<Property> properties = {
      property("DescribesColumnsAndGroups", check_description),
      property("ReadsAllRows", check_all_rows),
      property("ReadsAnyRange", check_ranges),
      property("OpensByItsLayout", check_layout),
      property("ReadsOnSeveralThreads", check_threads),
      property("NamesAMissingFile", check_missing),
      property("NamesAFileThatBecameShorter", check_changed),
      property("NamesAnEmptyFile", check_empty),
      property("NamesATruncatedFile", check_truncated),
      property("NamesADamagedFile", check_damaged),
      property("NamesAForeignFile", check_foreign),
  };
  if (conformance.file_with_bad_rows != nullptr) {
    properties.push_back(property("AddsBadRows", check_bad_rows));
    properties.push_back(property("FailsAtABadRowThatMayNotBeSkipped", check_strict));
  }
  return properties;
}

bool register_file_format_conformance(const std::string& suite,
                                      const FileFormatConformance& conformance,
                                      std::source_location place) {
  return register_properties(suite, file_format_properties(conformance), place);
}

}  // namespace millrace
