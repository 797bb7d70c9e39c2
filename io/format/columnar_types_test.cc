// Decimals and float16 in files of the columnar formats, written by Arrow's library.
#include <arrow/adapters/orc/adapter.h>
#include <arrow/builder.h>
#include <arrow/io/memory.h>
#include <arrow/table.h>
#include <arrow/util/float16.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <parquet/arrow/writer.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/memory_file_system_testing.h"
#include "base/status_matchers.h"
#include "io/bad_rows.h"
#include "io/file_format_conformance.h"

namespace millrace {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr int64_t kRows = 200, kGroupRows = 60;

void check(const arrow::Status& status) { ASSERT_TRUE(status.ok()) << status.ToString(); }

// The options of writing a file.
struct Layout {
  DataConfig::Format format = DataConfig::PARQUET;
  bool decimals_as_integers = false;  // INT32 and INT64 in Parquet
  bool has_bad_rows = false;
};

// Columns of an Arrow table and the values expected from reading.
class TableBuilder {
 public:
  void add(const std::string& name, const std::shared_ptr<arrow::Array>& array, ValueType as,
           std::vector<std::string> rows) {
    fields_.push_back(arrow::field(name, array->type()));
    arrays_.push_back(array);
    file_.columns.push_back({name, as, std::move(rows)});
  }

  // A plain column of decimals, each ninth of them null: `digits(row)` without the point.
  template <typename Digits>
  void add_decimals(const std::string& name, const std::shared_ptr<arrow::DataType>& type,
                    Digits&& digits) {
    const int scale = static_cast<const arrow::DecimalType&>(*type).scale();
    auto builder = *arrow::MakeBuilder(type);
    std::vector<std::string> rows;
    for (int64_t row = 0; row < kRows; ++row) {
      if (row % 9 == 4) {
        check(builder->AppendNull());
        rows.emplace_back();
        continue;
      }
      append(*builder, digits(row));
      rows.push_back(text(digits(row), scale));
    }
    add(name, *builder->Finish(), scale > 0 ? ValueType::kDouble : ValueType::kInt64,
        std::move(rows));
  }

  // Lists of up to three decimals, some of them null.
  void add_lists(const std::string& name, const std::shared_ptr<arrow::DataType>& type) {
    const int scale = static_cast<const arrow::DecimalType&>(*type).scale();
    std::shared_ptr<arrow::ArrayBuilder> values = *arrow::MakeBuilder(type);
    arrow::ListBuilder lists(arrow::default_memory_pool(), values);
    std::vector<std::string> rows(kRows);
    for (int64_t row = 0; row < kRows; ++row) {
      check(lists.Append());
      for (int64_t k = 0; k < row % 4; ++k) {
        if ((row + k) % 5 == 0) {
          check(values->AppendNull());
        } else {
          append(*values, 1000 * row + k);
          rows[row] += text(1000 * row + k, scale);
        }
      }
    }
    add(name, *lists.Finish(), scale > 0 ? ValueType::kDouble : ValueType::kInt64, std::move(rows));
  }

  void add_halves(const std::string& name) {
    arrow::HalfFloatBuilder builder;
    std::vector<std::string> rows;
    for (int64_t row = 0; row < kRows; ++row) {
      const double value = 0.25 * static_cast<double>(row) - 10;
      check(builder.Append(arrow::util::Float16(value).bits()));
      rows.push_back(absl::StrCat(value, ";"));
    }
    add(name, *builder.Finish(), ValueType::kDouble, std::move(rows));
  }

  std::shared_ptr<arrow::Table> table() const {
    return arrow::Table::Make(arrow::schema(fields_), arrays_);
  }
  ExpectedFile& file() { return file_; }

 private:
  static std::string text(int64_t digits, int scale) {
    if (scale <= 0) return absl::StrCat(digits, ";");
    double power = 1;
    for (int i = 0; i < scale; ++i) power *= 10;
    return absl::StrCat(static_cast<double>(digits) / power, ";");
  }
  static void append(arrow::ArrayBuilder& builder, int64_t digits) {
    if (builder.type()->id() == arrow::Type::DECIMAL256) {
      check(static_cast<arrow::Decimal256Builder&>(builder).Append(arrow::Decimal256(digits)));
    } else {
      check(static_cast<arrow::Decimal128Builder&>(builder).Append(arrow::Decimal128(digits)));
    }
  }

  std::vector<std::shared_ptr<arrow::Field>> fields_;
  std::vector<std::shared_ptr<arrow::Array>> arrays_;
  ExpectedFile file_;
};

std::string bytes_of(const arrow::Table& table, const Layout& layout) {
  const auto out = *arrow::io::BufferOutputStream::Create();
  if (layout.format == DataConfig::PARQUET) {
    parquet::WriterProperties::Builder properties;
    if (layout.decimals_as_integers) properties.enable_store_decimal_as_integer();
    check(parquet::arrow::WriteTable(table, arrow::default_memory_pool(), out, kGroupRows,
                                     properties.build()));
  } else {
    arrow::adapters::orc::WriteOptions options;
    options.batch_size = kGroupRows;
    options.stripe_size = 1;  // a stripe after each write
    auto writer = *arrow::adapters::orc::ORCFileWriter::Open(out.get(), options);
    for (int64_t begin = 0; begin < kRows; begin += kGroupRows) {
      check(writer->Write(*table.Slice(begin, kGroupRows)));
    }
    check(writer->Close());
  }
  return (*out->Finish())->ToString();
}

ExpectedFile written(const Layout& layout) {
  TableBuilder table;
  table.add_decimals("price", arrow::decimal128(9, 2), [](int64_t row) { return 7 * row - 300; });
  table.add_decimals("amount", arrow::decimal128(18, 6),
                     [](int64_t row) { return 123456789012345 * (row - 100); });
  table.add_decimals("id", arrow::decimal128(18, 0), [](int64_t row) { return row << 50; });
  table.add_lists("items", arrow::decimal128(12, 3));
  table.add_lists("ids", arrow::decimal128(38, 0));
  if (layout.format == DataConfig::PARQUET) {
    table.add_decimals("wide", arrow::decimal256(50, 4), [](int64_t row) { return 3 * row; });
    table.add_halves("half");
  }
  if (layout.has_bad_rows) {
    arrow::Decimal128Builder large(arrow::decimal128(38, 0));
    std::vector<std::string> rows;
    for (int64_t row = 0; row < kRows; ++row) {
      const bool is_bad = row % 50 == 3;
      check(large.Append(is_bad ? arrow::Decimal128("-9223372036854775809") : row));
      rows.push_back(absl::StrCat(row, ";"));
      if (is_bad) table.file().bad_rows.push_back(row);
    }
    table.add("large", *large.Finish(), ValueType::kInt64, std::move(rows));
  }
  table.file().bytes = bytes_of(*table.table(), layout);
  return table.file();
}

bool register_layout(const std::string& suite, Layout layout, const std::string& extension) {
  FileFormatConformance conformance;
  conformance.file = [layout] { return written(layout); };
  layout.has_bad_rows = true;
  conformance.file_with_bad_rows = [layout] { return written(layout); };
  conformance.extension = extension;
  return register_file_format_conformance(suite, conformance);
}

[[maybe_unused]] const bool kParquet = register_layout("ParquetDecimals", {}, ".parquet");
[[maybe_unused]] const bool kIntegers =
    register_layout("ParquetDecimalsAsIntegers", {.decimals_as_integers = true}, ".parquet");
[[maybe_unused]] const bool kOrc =
    register_layout("OrcDecimals", {.format = DataConfig::ORC}, ".orc");

TEST(ColumnarTypesTest, ABadDecimalNamesItsPlace) {
  for (const auto& [format, extension, group] :
       {std::tuple{DataConfig::PARQUET, ".parquet", "row group 1"},
        {DataConfig::ORC, ".orc", "stripe 1"}}) {
    MemoryFileSystem files;
    const std::string path = absl::StrCat("a", extension);
    const ExpectedFile file = written({.format = format, .has_bad_rows = true});
    files.put(path, file.bytes);
    ASSERT_OK_AND_ASSIGN(const auto reader, open_file(files, path, DataConfig()));
    const auto last = static_cast<int64_t>(file.columns.size()) - 1;
    // Row 103 of the file.
    EXPECT_THAT(reader->read({1, 40, 10}, {{last, ValueType::kInt64}}),
                StatusIs(absl::StatusCode::kDataLoss,
                         AllOf(HasSubstr(absl::StrCat(path, ", ", group, ", row 43, column large")),
                               HasSubstr("-9223372036854775809 does not fit"))));
    EXPECT_OK(reader->read({1, 0, 40}, {{last, ValueType::kInt64}}));
  }
}

}  // namespace
}  // namespace millrace
