// Checks the promises of readers for each file format, and checks the suite with a format breaking
// a promise.

#include "io/file_format_conformance.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "base/file_system.h"
#include "base/status_macros.h"
#include "base/status_matchers.h"
#include "tests/io_testing/data_files.h"

namespace millrace {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::IsSupersetOf;

constexpr int64_t kRows = 2000;

constexpr ValueType kTypes[] = {ValueType::kInt64, ValueType::kDouble, ValueType::kString};

ExpectedFile written(DataConfig::Format format, const std::string& extension) {
  const TestTable table = mixed_table(kRows);
  const std::string path = fresh_test_dir() + "/data" + extension;
  EXPECT_OK(write_data_file(table, format, /*group_rows=*/300, path));
  ExpectedFile file;
  file.bytes = read_file(FileSystem::local(), path).value();
  for (const TestColumn& column : table.columns) {
    ExpectedColumn& expected = file.columns.emplace_back();
    expected.name = column.name;
    expected.as = kTypes[column.rows.index()];
    for (int64_t row = 0; row < kRows; ++row) expected.rows.push_back(text_of_row(column, row));
  }
  return file;
}

FileFormatConformance of(DataConfig::Format format, const std::string& extension) {
  FileFormatConformance conformance;
  conformance.file = [=] { return written(format, extension); };
  conformance.extension = extension;
  conformance.config.mutable_csv()->set_list_delimiter("|");
  conformance.damaged_files = damaged_files();
  for (const auto& [name, type] : {std::pair("plain", TfRecordConfig::INT64),
                                   {"list", TfRecordConfig::INT64},
                                   {"number", TfRecordConfig::FLOAT},
                                   {"numbers", TfRecordConfig::FLOAT},
                                   {"text", TfRecordConfig::BYTES},
                                   {"texts", TfRecordConfig::BYTES}}) {
    auto* column = conformance.config.mutable_tfrecord()->add_column();
    column->set_name(name);
    column->set_type(type);
  }
  return conformance;
}

// Lines of text with a number in each third row that is none.
ExpectedFile csv_with_bad_rows() {
  ExpectedFile file{"id,x\n", {{"id", ValueType::kInt64, {}}, {"x", ValueType::kDouble, {}}}, {}};
  for (int64_t row = 0; row < 100; ++row) {
    const bool bad = row % 3 == 1;
    absl::StrAppend(&file.bytes, row, ",", bad ? "none" : "0.5", "\n");
    file.columns[0].rows.push_back(absl::StrCat(row, ";"));
    file.columns[1].rows.push_back("0.5;");
    if (bad) file.bad_rows.push_back(row);
  }
  return file;
}

// Quoted cells with line breaks, delimiters and quotes; in every `bad_every`-th row text follows a
// closing quote; 0: in no row.
ExpectedFile quoted_csv(int64_t bad_every) {
  ExpectedFile file{"\"the\nid\",\"x, \"\"y\"\"\",list\n",
                    {{"the\nid", ValueType::kInt64, {}},
                     {"x, \"y\"", ValueType::kString, {}},
                     {"list", ValueType::kDouble, {}}},
                    {}};
  for (int64_t row = 0; row < kRows; ++row) {
    const bool bad = bad_every > 0 && row % bad_every == 0;
    absl::StrAppend(&file.bytes, "\"", row, "\"", bad ? "?" : "", ",\"", row, ",\n\r\n\"\"\",\"",
                    row % 2 == 0 ? "0.5|2" : "", "\"\r\n");
    file.columns[0].rows.push_back(absl::StrCat(row, ";"));
    file.columns[1].rows.push_back(absl::StrCat(row, ",\n\r\n\";"));
    file.columns[2].rows.push_back(row % 2 == 0 ? "0.5;2;" : "");
    if (bad) file.bad_rows.push_back(row);
  }
  return file;
}

// "label qid:7 index:value …", in which every `bad_every`-th line is none; 0: no line.
ExpectedFile libsvm(int64_t bad_every) {
  ExpectedFile file{"",
                    {{"label", ValueType::kDouble, {}},
                     {"qid", ValueType::kInt64, {}},
                     {"index", ValueType::kUint64, {}},
                     {"value", ValueType::kDouble, {}}},
                    {}};
  for (int64_t row = 0; row < kRows; ++row) {
    absl::StrAppend(&file.bytes, row % 2, " qid:", row / 5);
    std::string indices, values;
    for (int64_t k = 0; k < row % 4; ++k) {
      absl::StrAppend(&file.bytes, " ", row + k, ":", 0.25 * static_cast<double>(k));
      absl::StrAppend(&indices, row + k, ";");
      absl::StrAppend(&values, 0.25 * static_cast<double>(k), ";");
    }
    if (bad_every > 0 && row % bad_every == 0) {
      file.bytes += " what";
      file.bad_rows.push_back(row);
    }
    file.bytes += "\n";
    file.columns[0].rows.push_back(absl::StrCat(row % 2, ";"));
    file.columns[1].rows.push_back(absl::StrCat(row / 5, ";"));
    file.columns[2].rows.push_back(indices);
    file.columns[3].rows.push_back(values);
  }
  return file;
}

[[maybe_unused]] const bool kParquet =
    register_file_format_conformance("Parquet", of(DataConfig::PARQUET, ".parquet"));
[[maybe_unused]] const bool kOrc =
    register_file_format_conformance("Orc", of(DataConfig::ORC, ".orc"));
[[maybe_unused]] const bool kCsv = [] {
  FileFormatConformance csv = of(DataConfig::CSV, ".csv");
  csv.file_with_bad_rows = csv_with_bad_rows;
  csv.may_end_anywhere = true;
  return register_file_format_conformance("Csv", csv);
}();
[[maybe_unused]] const bool kQuotedCsv = [] {
  FileFormatConformance csv = of(DataConfig::CSV, ".csv");
  csv.file = [] { return quoted_csv(0); };
  csv.file_with_bad_rows = [] { return quoted_csv(7); };
  csv.may_end_anywhere = true;
  return register_file_format_conformance("QuotedCsv", csv);
}();
[[maybe_unused]] const bool kTfRecord = [] {
  FileFormatConformance tfrecord = of(DataConfig::TFRECORD, ".tfrecord");
  tfrecord.may_end_anywhere = true;
  tfrecord.has_checksums = true;
  return register_file_format_conformance("TfRecord", tfrecord);
}();
[[maybe_unused]] const bool kCompressedTfRecord = [] {
  FileFormatConformance compressed = of(DataConfig::TFRECORD, ".tfrecord.gz");
  compressed.may_be_empty = true;
  return register_file_format_conformance("CompressedTfRecord", compressed);
}();
[[maybe_unused]] const bool kLibsvm =
    register_file_format_conformance("Libsvm", {.file = [] { return libsvm(0); },
                                                .file_with_bad_rows = [] { return libsvm(7); },
                                                .extension = ".libsvm",
                                                .may_end_anywhere = true,
                                                .damaged_files = damaged_files()});

enum class Fault {
  kNone,
  kMisnamesAColumn,
  kLosesARow,
  kIgnoresBegin,
  kForgetsLayout,
  kSharesAState,
  kTakesAnyEnd,
  kNamesNoFile,
  kSkipsBadRowsSilently,
  kFailsAtBadRows,
  kAnotherCode,
};

// The fault of the format below. The suite opens files by name, so that it cannot be handed in.
std::atomic<Fault> fault = Fault::kNone;

// Rows "a,b" of integers in groups of 10, between a first line with the names of the columns and
// the last line "end".
class FaultyReader : public FileReader {
 public:
  struct Layout : FileLayout {};

  FaultyReader(std::string path, std::vector<std::string> names,
               std::vector<std::vector<std::string>> rows, bool by_layout)
      : path_(std::move(path)), rows_(std::move(rows)), by_layout_(by_layout) {
    if (fault == Fault::kMisnamesAColumn) names[0] = "column";
    for (const std::string& name : names) {
      columns_.push_back({.name = name, .type = ValueType::kInt64, .type_name = "integer"});
    }
    for (size_t first = 0; first < rows_.size(); first += 10) {
      groups_.push_back(static_cast<int64_t>(std::min<size_t>(10, rows_.size() - first)));
    }
    if (fault == Fault::kForgetsLayout && by_layout_) groups_.pop_back();
  }

  const std::string& path() const override { return path_; }
  const std::vector<FileColumn>& columns() const override { return columns_; }
  const std::vector<int64_t>& group_rows() const override { return groups_; }
  std::shared_ptr<const FileLayout> layout() const override { return std::make_shared<Layout>(); }

  absl::StatusOr<std::vector<Column>> read(const RowRange& range,
                                           absl::Span<const ColumnRequest> requests,
                                           BadRows& bad) override {
    std::vector<Column> columns;
    for (const ColumnRequest& request : requests) {
      Column& column = columns.emplace_back();
      column.rows = range.count;
      for (int64_t row = 0; row < range.count; ++row) {
        const int64_t begin = fault == Fault::kIgnoresBegin ? 0 : range.begin;
        const std::string& cell = rows_[range.group * 10 + begin + row][request.column];
        int64_t value = 0;
        if (!absl::SimpleAtoi(cell, &value)) RETURN_IF_ERROR(report(bad, row, cell));
        column.int64s.push_back(value);
      }
      if (fault == Fault::kSharesAState) column.int64s[0] += reads_++ / 50;
    }
    return columns;
  }

 private:
  absl::Status report(BadRows& bad, int64_t row, const std::string& cell) const {
    if (fault == Fault::kSkipsBadRowsSilently) return absl::OkStatus();
    const absl::Status error =
        absl::DataLossError(absl::StrCat(path_, ": ", cell, " is no integer"));
    return fault == Fault::kFailsAtBadRows ? error : bad.add(row, error);
  }

  static inline std::atomic<int64_t> reads_ = 0;

  const std::string path_;
  const std::vector<std::vector<std::string>> rows_;
  const bool by_layout_;
  std::vector<FileColumn> columns_;
  std::vector<int64_t> groups_;
};

absl::StatusOr<std::unique_ptr<FileReader>> open_faulty(FileSystem& files, const std::string& path,
                                                        const DataConfig&,
                                                        std::shared_ptr<const FileLayout> layout) {
  ASSIGN_OR_RETURN(const std::string text, read_file(files, path));
  std::vector<std::string> lines = absl::StrSplit(text, '\n', absl::SkipEmpty());
  const auto damage = [&](const std::string& what) -> absl::Status {
    const std::string message =
        fault == Fault::kNamesNoFile ? what : absl::StrCat(path, ": ", what);
    return fault == Fault::kAnotherCode ? absl::InternalError(message)
                                        : absl::DataLossError(message);
  };
  if (lines.size() < 2 || lines.back() != "end" || text.back() != '\n') {
    if (fault != Fault::kTakesAnyEnd) return damage("the last line is not \"end\"");
  } else {
    lines.pop_back();
  }
  if (lines.empty()) lines = {"a,b"};
  std::vector<std::vector<std::string>> rows;
  for (const std::string& line : lines) {
    rows.push_back(absl::StrSplit(line, ','));
    if (rows.back().size() != rows[0].size()) return damage("a row has another number of cells");
  }
  const std::vector<std::string> names = rows[0];
  rows.erase(rows.begin());
  if (fault == Fault::kLosesARow && !rows.empty()) rows.pop_back();
  return std::make_unique<FaultyReader>(path, names, std::move(rows), layout != nullptr);
}

MILLRACE_REGISTER_FILE_FORMAT(faulty, "a format of this test",
                              {.extensions = {".faulty"}, .open = &open_faulty});

ExpectedFile faulty_file(int64_t bad_every) {
  ExpectedFile file{"a,b\n", {{"a", ValueType::kInt64, {}}, {"b", ValueType::kInt64, {}}}, {}};
  for (int64_t row = 0; row < 45; ++row) {
    const bool bad = bad_every > 0 && row % bad_every == 0;
    absl::StrAppend(&file.bytes, row, ",", bad ? "none" : absl::StrCat(row * row), "\n");
    file.columns[0].rows.push_back(absl::StrCat(row, ";"));
    file.columns[1].rows.push_back(absl::StrCat(row * row, ";"));
    if (bad) file.bad_rows.push_back(row);
  }
  file.bytes += "end\n";
  return file;
}

std::vector<std::string> failing(Fault of_format) {
  fault = of_format;
  return failing_properties(
      file_format_properties({.file = [] { return faulty_file(0); },
                              .file_with_bad_rows = [] { return faulty_file(4); },
                              .extension = ".faulty"}));
}

TEST(FileFormatConformanceTest, EachFaultFailsItsProperty) {
  EXPECT_THAT(failing(Fault::kNone), IsEmpty());
  EXPECT_THAT(failing(Fault::kMisnamesAColumn), ElementsAre("DescribesColumnsAndGroups"));
  EXPECT_THAT(failing(Fault::kLosesARow),
              IsSupersetOf({"DescribesColumnsAndGroups", "ReadsAllRows", "OpensByItsLayout"}));
  EXPECT_THAT(failing(Fault::kIgnoresBegin), ElementsAre("ReadsAnyRange"));
  EXPECT_THAT(failing(Fault::kForgetsLayout),
              ElementsAre("OpensByItsLayout", "ReadsOnSeveralThreads"));
  EXPECT_THAT(failing(Fault::kTakesAnyEnd), ElementsAre("NamesAnEmptyFile", "NamesATruncatedFile"));
  EXPECT_THAT(failing(Fault::kNamesNoFile),
              IsSupersetOf({"NamesAFileThatBecameShorter", "NamesAnEmptyFile",
                            "NamesATruncatedFile", "NamesADamagedFile", "NamesAForeignFile"}));
  EXPECT_THAT(failing(Fault::kAnotherCode),
              IsSupersetOf({"NamesAnEmptyFile", "NamesATruncatedFile"}));
  EXPECT_THAT(failing(Fault::kSkipsBadRowsSilently),
              IsSupersetOf({"AddsBadRows", "FailsAtABadRowThatMayNotBeSkipped"}));
  EXPECT_THAT(failing(Fault::kFailsAtBadRows), ElementsAre("AddsBadRows"));
  EXPECT_THAT(failing(Fault::kSharesAState), Contains("ReadsAnyRange"));
}

TEST(FileFormatConformanceTest, ChecksumsThatFindNothingFail) {
  fault = Fault::kNone;
  EXPECT_THAT(
      failing_properties(file_format_properties(
          {.file = [] { return faulty_file(0); }, .extension = ".faulty", .has_checksums = true})),
      Contains("NamesADamagedFile"));
}

}  // namespace
}  // namespace millrace
