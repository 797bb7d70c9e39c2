// Compares every type decoded here with the values of Arrow's reader.
#include "io/format/parquet_column.h"

#include <arrow/array/builder_nested.h>
#include <arrow/builder.h>
#include <arrow/io/file.h>
#include <arrow/record_batch.h>
#include <arrow/scalar.h>
#include <arrow/table.h>
#include <parquet/arrow/reader.h>
#include <parquet/arrow/writer.h>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/file_system.h"
#include "base/random/philox.h"
#include "base/status_matchers.h"
#include "io/format/arrow_columns.h"
#include "io/format/parquet_reader.h"
#include "tests/io_testing/data_files.h"

namespace millrace {
namespace {

using Types = std::vector<std::shared_ptr<arrow::DataType>>;

Types plain_types() {
  using arrow::TimeUnit;
  return {arrow::boolean(),
          arrow::int8(),
          arrow::uint8(),
          arrow::int16(),
          arrow::uint16(),
          arrow::int32(),
          arrow::uint32(),
          arrow::int64(),
          arrow::uint64(),
          arrow::float32(),
          arrow::float64(),
          arrow::date32(),
          arrow::date64(),
          arrow::time32(TimeUnit::SECOND),
          arrow::time32(TimeUnit::MILLI),
          arrow::time64(TimeUnit::NANO),
          arrow::timestamp(TimeUnit::SECOND),
          arrow::timestamp(TimeUnit::MICRO, "UTC"),
          arrow::utf8(),
          arrow::large_utf8(),
          arrow::binary(),
          arrow::large_binary(),
          arrow::fixed_size_binary(3)};
}

// Each of them, plain and in each kind of list.
Types all_types() {
  Types types = plain_types();
  for (const auto& type : plain_types()) {
    types.push_back(arrow::list(type));
    types.push_back(arrow::large_list(type));
  }
  types.push_back(arrow::list(arrow::field("item", arrow::int64(), /*nullable=*/false)));
  return types;
}

void check(const arrow::Status& status) { ASSERT_TRUE(status.ok()) << status.ToString(); }

// A value of a plain type; negative ones too where there are such.
std::shared_ptr<arrow::Scalar> value(const std::shared_ptr<arrow::DataType>& type, uint32_t bits) {
  if (type->id() == arrow::Type::FIXED_SIZE_BINARY) {
    return std::make_shared<arrow::FixedSizeBinaryScalar>(
        arrow::Buffer::FromString(absl::StrCat(100 + bits % 900)), type);
  }
  if (arrow::is_base_binary_like(type->id())) {
    const std::string text(bits % 9, static_cast<char>('a' + bits % 26));
    return *arrow::MakeScalar(type, arrow::Buffer::FromString(text));
  }
  if (type->id() == arrow::Type::BOOL) return *arrow::MakeScalar(type, bits % 2 == 0);
  if (type->id() == arrow::Type::DATE64) {
    return *arrow::MakeScalar(type, int64_t{86400000} * (bits % 20000));
  }
  const bool is_signed = arrow::is_signed_integer(type->id()) || arrow::is_floating(type->id());
  return *arrow::MakeScalar(type, static_cast<int64_t>(bits % 250) - (is_signed ? 125 : 0));
}

// The number of values of a row: in lists, now and then very many, so that a row spans pieces.
int64_t length(uint32_t bits) { return bits % 500 == 7 ? 5000 : bits % 5; }

// `sometimes`: whether rows and values may be null or, of lists, not exactly one.
std::shared_ptr<arrow::Array> random_column(const std::shared_ptr<arrow::DataType>& type,
                                            int64_t rows, uint64_t seed, bool sometimes) {
  auto builder = *arrow::MakeBuilder(type);
  const arrow::DataType* inner = list_value_type(*type);
  for (int64_t row = 0; row < rows; ++row) {
    const PhiloxBlock random = philox(seed, 0, row);
    if (sometimes && random[0] % 4 == 0) {
      check(builder->AppendNull());
      continue;
    }
    if (inner == nullptr) {
      check(builder->AppendScalar(*value(type, random[1])));
      continue;
    }
    const bool is_large = type->id() == arrow::Type::LARGE_LIST;
    arrow::ArrayBuilder* values =
        is_large ? static_cast<arrow::LargeListBuilder&>(*builder).value_builder()
                 : static_cast<arrow::ListBuilder&>(*builder).value_builder();
    check(is_large ? static_cast<arrow::LargeListBuilder&>(*builder).Append()
                   : static_cast<arrow::ListBuilder&>(*builder).Append());
    const bool holds_nulls = sometimes && type->field(0)->nullable();
    for (int64_t i = sometimes ? length(random[2]) : 1; i > 0; --i) {
      if (holds_nulls && (random[3] + i) % 3 == 0) {
        check(values->AppendNull());
      } else {
        check(values->AppendScalar(*value(type->field(0)->type(), random[1] + i)));
      }
    }
  }
  return *builder->Finish();
}

std::string cell(const Column& column, int64_t row) {
  std::string text;
  for (int64_t i = column.begin(row); i < column.end(row); ++i) {
    switch (column.type) {
      case ValueType::kString: absl::StrAppend(&text, column.strings[i], ";"); break;
      case ValueType::kDouble: absl::StrAppend(&text, column.doubles[i], ";"); break;
      default: absl::StrAppend(&text, column.int64s[i], ";");
    }
  }
  return text;
}

struct Layout {
  const char* name;
  bool dictionary;
  bool delta;
  parquet::ParquetDataPageVersion pages;
  int64_t page_bytes;
};

class ParquetColumnTest : public testing::TestWithParam<Layout> {
 protected:
  // Writes rows in groups, and opens them.
  void write(bool sometimes) {
    std::vector<std::shared_ptr<arrow::Field>> fields;
    std::vector<std::shared_ptr<arrow::Array>> columns;
    const Types types = all_types();
    for (size_t c = 0; c < types.size(); ++c) {
      fields.push_back(arrow::field(absl::StrCat("c", c), types[c], sometimes));
      columns.push_back(random_column(types[c], kRows, c, sometimes));
    }
    const auto table = arrow::Table::Make(arrow::schema(fields), columns);
    parquet::WriterProperties::Builder properties;
    properties.data_pagesize(GetParam().page_bytes)->data_page_version(GetParam().pages);
    if (!GetParam().dictionary) properties.disable_dictionary();
    for (size_t c = 0; GetParam().delta && c < types.size(); ++c)
      set_delta(c, *types[c], properties);
    const auto arrow_properties = parquet::ArrowWriterProperties::Builder().store_schema()->build();
    path_ = absl::StrCat(fresh_test_dir(), "/data.parquet");
    const auto out = *arrow::io::FileOutputStream::Open(path_);
    check(parquet::arrow::WriteTable(*table, arrow::default_memory_pool(), out, kGroupRows,
                                     properties.build(), arrow_properties));
    check(out->Close());
    const auto file = *arrow::io::ReadableFile::Open(path_);
    const auto reader = *parquet::arrow::OpenFile(file, arrow::default_memory_pool());
    ASSERT_TRUE(reader->ReadTable().Value(&by_arrow_).ok());
    ASSERT_OK_AND_ASSIGN(ours_, open_parquet(FileSystem::local(), path_));
  }

  static void set_delta(size_t c, const arrow::DataType& type,
                        parquet::WriterProperties::Builder& properties) {
    const arrow::DataType* inner = list_value_type(type);
    const arrow::Type::type id = inner != nullptr ? inner->id() : type.id();
    const std::string path = absl::StrCat(
        "c", c,
        inner == nullptr
            ? ""
            : absl::StrCat(".list.",
                           type.field(0)->name() == "item" ? "element" : type.field(0)->name()));
    if (arrow::is_base_binary_like(id)) {
      properties.encoding(path, parquet::Encoding::DELTA_LENGTH_BYTE_ARRAY);
    } else if (arrow::is_integer(id) || arrow::is_temporal(id)) {
      properties.encoding(path, parquet::Encoding::DELTA_BINARY_PACKED);
    }
  }

  // Arrow's values of a column, as text by row.
  std::vector<std::string> right(int64_t c) const {
    Column column;
    column.type = ours_->columns()[c].type;
    std::vector<BadValue> bad;
    for (const auto& chunk : by_arrow_->column(c)->chunks()) {
      EXPECT_OK(append_array(*chunk, &column, &bad));
      EXPECT_TRUE(bad.empty());
    }
    std::vector<std::string> cells;
    for (int64_t row = 0; row < column.rows; ++row) cells.push_back(cell(column, row));
    return cells;
  }

  void expect_equal(absl::Span<const RowRange> ranges) {
    std::vector<ColumnRequest> requests;
    std::vector<std::vector<std::string>> cells;
    for (int64_t c = 0; c < static_cast<int64_t>(ours_->columns().size()); ++c) {
      ASSERT_TRUE(ours_->columns()[c].supported) << ours_->columns()[c].type_name;
      requests.push_back({.column = c, .as = ours_->columns()[c].type});
      cells.push_back(right(c));
    }
    for (const RowRange& range : ranges) {
      ASSERT_OK_AND_ASSIGN(const auto columns, ours_->read(range, requests));
      for (size_t c = 0; c < columns.size(); ++c) {
        SCOPED_TRACE(ours_->columns()[c].type_name);
        ASSERT_EQ(columns[c].rows, range.count);
        ASSERT_TRUE(columns[c].offsets.empty() ||
                    static_cast<int64_t>(columns[c].offsets.size()) == range.count + 1);
        for (int64_t row = 0; row < range.count; ++row) {
          ASSERT_EQ(cell(columns[c], row), cells[c][kGroupRows * range.group + range.begin + row])
              << "row " << row << " of group " << range.group << " from " << range.begin;
        }
      }
    }
  }

  static constexpr int64_t kRows = 5000, kGroupRows = 3000;
  std::string path_;
  std::shared_ptr<arrow::Table> by_arrow_;
  std::unique_ptr<FileReader> ours_;
};

TEST_P(ParquetColumnTest, WholeRowGroupsOfAnything) {
  write(/*sometimes=*/true);
  expect_equal({{0, 0, 3000}, {1, 0, 2000}});
}

TEST_P(ParquetColumnTest, OneValueInEachRow) {
  write(/*sometimes=*/false);
  expect_equal({{0, 0, 3000}, {1, 0, 2000}});
}

TEST_P(ParquetColumnTest, PiecesInAndOutOfOrder) {
  write(/*sometimes=*/true);
  expect_equal({{0, 0, 500}, {0, 500, 1500}, {0, 2000, 1000}});
  expect_equal({{1, 1000, 700}, {1, 0, 300}, {1, 300, 700}, {1, 1700, 300}});
  expect_equal({{0, 2999, 1}, {0, 0, 1}, {0, 0, 1}, {1, 5, 5}, {0, 7, 0}});
}

TEST_P(ParquetColumnTest, DamageGivesWholeColumnsOrNone) {
  write(/*sometimes=*/true);
  ASSERT_OK_AND_ASSIGN(const std::string whole, read_file(FileSystem::local(), path_));
  for (int trial = 0; trial < damaged_files() / 2; ++trial) {
    std::string damaged = whole;
    const size_t place = philox64(9, 0, trial) % damaged.size();
    damaged[place] = static_cast<char>(damaged[place] ^ (1 << (philox64(9, 1, trial) % 8)));
    ASSERT_OK(write_file_atomically(FileSystem::local(), path_, damaged));
    const auto reader = open_parquet(FileSystem::local(), path_, 64 << 20);
    if (!reader.ok() || (*reader)->group_rows() != ours_->group_rows()) continue;
    for (int64_t c = 0; c < static_cast<int64_t>((*reader)->columns().size()); ++c) {
      const FileColumn& described = (*reader)->columns()[c];
      if (!described.supported) continue;
      for (const RowRange& range : {RowRange{0, 2000, 500}, RowRange{0, 0, 3000}}) {
        const auto columns = (*reader)->read(range, {{c, described.type}});
        if (!columns.ok()) {
          EXPECT_THAT(columns.status(),
                      StatusIs(absl::StatusCode::kDataLoss, testing::HasSubstr(path_)));
          continue;
        }
        const Column& column = columns->front();
        ASSERT_EQ(column.rows, range.count);
        ASSERT_EQ(column.values(),
                  static_cast<int64_t>(column.int64s.size() + column.doubles.size()) +
                      column.strings.size())
            << described.type_name << ", damaged at " << place;
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(
    Layouts, ParquetColumnTest,
    testing::Values(Layout{"Dictionary", true, false, parquet::ParquetDataPageVersion::V1, 1 << 20},
                    Layout{"SmallPages", true, false, parquet::ParquetDataPageVersion::V2, 500},
                    Layout{"Plain", false, false, parquet::ParquetDataPageVersion::V1, 3000},
                    Layout{"Delta", false, true, parquet::ParquetDataPageVersion::V2, 3000}),
    [](const auto& info) { return std::string(info.param.name); });

std::string write_columns(const std::vector<std::shared_ptr<arrow::Array>>& columns) {
  std::vector<std::shared_ptr<arrow::Field>> fields;
  for (size_t c = 0; c < columns.size(); ++c) {
    fields.push_back(arrow::field(absl::StrCat("c", c), columns[c]->type()));
  }
  const std::string path = absl::StrCat(fresh_test_dir(), "/data.parquet");
  const auto out = *arrow::io::FileOutputStream::Open(path);
  check(parquet::arrow::WriteTable(*arrow::Table::Make(arrow::schema(fields), columns),
                                   arrow::default_memory_pool(), out));
  check(out->Close());
  return path;
}

// A writer gives a column without values any type, and other files of the set may have another.
TEST(ParquetEmptyColumnTest, AColumnOfNullsIsWhateverItIsAskedFor) {
  arrow::DoubleBuilder doubles, some;
  arrow::StringBuilder texts;
  check(doubles.AppendNulls(5));
  check(texts.AppendNulls(5));
  check(some.AppendNulls(4));
  check(some.Append(2));
  const std::string path =
      write_columns({*doubles.Finish(), *texts.Finish(), *arrow::MakeArrayOfNull(arrow::null(), 5),
                     *some.Finish()});
  ASSERT_OK_AND_ASSIGN(const auto reader, open_parquet(FileSystem::local(), path));
  EXPECT_FALSE(reader->columns()[3].is_empty);
  EXPECT_EQ(reader->columns()[3].type, ValueType::kDouble);
  for (int64_t c = 0; c < 3; ++c) {
    EXPECT_TRUE(reader->columns()[c].supported);
    EXPECT_TRUE(reader->columns()[c].is_empty);
    EXPECT_EQ(reader->columns()[c].type, ValueType::kText);
    for (const ValueType as : {ValueType::kInt64, ValueType::kDouble, ValueType::kString}) {
      ASSERT_OK_AND_ASSIGN(const auto columns, reader->read({0, 1, 3}, {{c, as}}));
      EXPECT_EQ(columns[0].type, as);
      EXPECT_EQ(columns[0].rows, 3);
      EXPECT_THAT(columns[0].offsets, testing::ElementsAre(0, 0, 0, 0));
    }
  }
}

// A word of the dictionary that comes again and again: little in the file, 9 GB in memory.
TEST(ParquetCapTest, ATextThatComesOftenIsRefusedBeforeItIsCopied) {
  arrow::StringBuilder texts;
  const std::string word(3 << 20, 'x');
  for (int row = 0; row < 8; ++row) check(texts.Append(word));
  const std::string path = write_columns({*texts.Finish()});
  ASSERT_OK_AND_ASSIGN(const auto reader, open_parquet(FileSystem::local(), path, 8 << 20));
  EXPECT_THAT(reader->read({0, 0, 8}, {{0, ValueType::kString}}),
              StatusIs(absl::StatusCode::kDataLoss, testing::HasSubstr("max_group_bytes")));
}

// Rows that would be kept for their turn are dropped and decoded again.
TEST(ParquetCapTest, WhatCanBeReadDoesNotDependOnTheOrder) {
  constexpr int64_t kRows = 40000, kColumns = 20;
  std::vector<std::shared_ptr<arrow::Array>> columns;
  std::vector<ColumnRequest> requests;
  for (int64_t c = 0; c < kColumns; ++c) {
    arrow::Int64Builder numbers;
    for (int64_t row = 0; row < kRows; ++row) check(numbers.Append(row % 100 + c));
    columns.push_back(*numbers.Finish());
    requests.push_back({c, ValueType::kInt64});
  }
  const std::string path = write_columns(columns);
  ASSERT_OK_AND_ASSIGN(const auto reader, open_parquet(FileSystem::local(), path, 4 << 20));
  for (const int64_t begin : {35000, 0, 20000, 15000, 35000}) {
    ASSERT_OK_AND_ASSIGN(const auto read, reader->read({0, begin, 5000}, requests));
    for (int64_t row = 0; row < 5000; ++row) {
      ASSERT_EQ(read[7].int64s[row], (begin + row) % 100 + 7);
    }
  }
  EXPECT_THAT(reader->read({0, 0, kRows}, requests),
              StatusIs(absl::StatusCode::kDataLoss, testing::HasSubstr("max_group_bytes")));
}

}  // namespace
}  // namespace millrace
