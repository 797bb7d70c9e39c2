#include "tools/output/csv_rows.h"

#include <arrow/array/builder_binary.h>
#include <arrow/array/builder_primitive.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <memory>
#include <optional>
#include <vector>

namespace millrace {
namespace {

using ::testing::HasSubstr;

template <typename Builder, typename T>
std::shared_ptr<arrow::Array> array_of(const std::vector<std::optional<T>>& values) {
  Builder builder;
  for (const std::optional<T>& value : values) {
    EXPECT_TRUE((value.has_value() ? builder.Append(*value) : builder.AppendNull()).ok());
  }
  return builder.Finish().ValueOrDie();
}

std::shared_ptr<arrow::RecordBatch> batch_of(std::vector<std::shared_ptr<arrow::Array>> columns,
                                             const std::vector<std::string>& names) {
  arrow::FieldVector fields;
  for (size_t i = 0; i < names.size(); ++i) {
    fields.push_back(arrow::field(names[i], columns[i]->type()));
  }
  const int64_t rows = columns[0]->length();
  return arrow::RecordBatch::Make(arrow::schema(fields), rows, std::move(columns));
}

TEST(CsvRowsTest, TextIsQuotedWhereItMustBe) {
  const auto texts = array_of<arrow::StringBuilder, std::string>(
      {"plain", "a,b", "say \"hi\"", "two\nlines", "end\r", "", std::nullopt, " ü;'"});
  const auto batch = batch_of({texts, texts}, {"x", "y,\"z"});
  std::string text;
  append_csv_header(*batch->schema(), text);
  ASSERT_TRUE(append_csv_rows(*batch->Slice(0, 3), text).ok());
  EXPECT_EQ(text,
            "x,\"y,\"\"z\"\n"
            "plain,plain\n"
            "\"a,b\",\"a,b\"\n"
            "\"say \"\"hi\"\"\",\"say \"\"hi\"\"\"\n");
  text.clear();
  ASSERT_TRUE(append_csv_rows(*batch->Slice(3), text).ok());
  EXPECT_EQ(text,
            "\"two\nlines\",\"two\nlines\"\n"
            "\"end\r\",\"end\r\"\n"
            "\"\",\"\"\n"  // unlike a missing value
            ",\n"
            " ü;', ü;'\n");
}

TEST(CsvRowsTest, NumbersAreShortAndExact) {
  const auto batch = batch_of(
      {array_of<arrow::Int64Builder, int64_t>({std::numeric_limits<int64_t>::min(), std::nullopt}),
       array_of<arrow::UInt64Builder, uint64_t>({std::numeric_limits<uint64_t>::max(), 0}),
       array_of<arrow::FloatBuilder, float>({0.1f, 1e-20f}),
       array_of<arrow::DoubleBuilder, double>({0.1, std::numeric_limits<double>::infinity()})},
      {"i", "u", "f", "d"});
  std::string text = "before\n";
  ASSERT_TRUE(append_csv_rows(*batch, text).ok());
  EXPECT_EQ(text,
            "before\n-9223372036854775808,18446744073709551615,0.1,0.1\n"
            ",0,1e-20,inf\n");
}

TEST(CsvRowsTest, OtherTypesAreRefused) {
  const auto batch = batch_of({array_of<arrow::BooleanBuilder, bool>({true})}, {"b"});
  std::string text;
  EXPECT_THAT(append_csv_rows(*batch, text).ToString(), HasSubstr("bool"));
  EXPECT_EQ(text, "");
}

}  // namespace
}  // namespace millrace
