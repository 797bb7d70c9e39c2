#include "io/files/set_column.h"

#include <string>

#include "base/status_matchers.h"

namespace millrace {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

const FileColumn kInts{.name = "x", .type = ValueType::kInt64, .type_name = "int64"};
const FileColumn kUnsigned{.name = "x", .type = ValueType::kUint64, .type_name = "uint64"};
const FileColumn kDoubles{.name = "x", .type = ValueType::kDouble, .type_name = "double"};
const FileColumn kTexts{.name = "x", .type = ValueType::kString, .type_name = "string"};
const FileColumn kNulls{
    .name = "x", .type = ValueType::kText, .type_name = "null", .is_empty = true};
const FileColumn kStructs{.name = "x", .supported = false, .type_name = "struct<a: int8>"};

SetColumn column_of(std::initializer_list<FileColumn> columns) {
  SetColumn all;
  for (const FileColumn& column : columns) {
    EXPECT_OK(all.check("f.parquet", column));
    all.add("f.parquet", column);
  }
  return all;
}

TEST(SetColumnTest, NumbersOfAnyTypeFitInAnyOrder) {
  EXPECT_EQ(column_of({kInts, kDoubles}).type(), ValueType::kDouble);
  EXPECT_EQ(column_of({kDoubles, kInts}).type(), ValueType::kDouble);
  EXPECT_EQ(column_of({kDoubles, kUnsigned}).type(), ValueType::kDouble);
  EXPECT_EQ(column_of({kInts, kUnsigned}).type(), ValueType::kUint64);
  EXPECT_EQ(column_of({kUnsigned, kInts}).type(), ValueType::kUint64);
  EXPECT_EQ(column_of({kInts, kInts}).type(), ValueType::kInt64);
}

TEST(SetColumnTest, TimesHaveOneMeaning) {
  const FileColumn ms{.name = "x", .type = ValueType::kInt64, .type_name = "timestamp[ms]"};
  const FileColumn ns{.name = "x", .type = ValueType::kInt64, .type_name = "timestamp[ns]"};
  const FileColumn zoned{
      .name = "x", .type = ValueType::kInt64, .type_name = "timestamp[ms, tz=UTC]"};
  EXPECT_EQ(column_of({kInts, ns, ms}).time_type_name(), "timestamp[ns]");
  EXPECT_EQ(column_of({kInts}).time_type_name(), "");
  EXPECT_THAT(column_of({ns}).check("g.parquet", zoned),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       AllOf(HasSubstr("g.parquet, column \"x\" holds timestamp[ms, tz=UTC], but "
                                       "timestamp[ns] in f.parquet"))));
}

TEST(SetColumnTest, MixedAreIntegersAndDoubles) {
  EXPECT_TRUE(column_of({kInts, kDoubles}).is_mixed());
  EXPECT_TRUE(column_of({kDoubles, kUnsigned}).is_mixed());
  EXPECT_FALSE(column_of({kInts, kUnsigned}).is_mixed());
  EXPECT_FALSE(column_of({kDoubles, kDoubles}).is_mixed());
  EXPECT_FALSE(column_of({kNulls, kDoubles}).is_mixed());
}

TEST(SetColumnTest, AColumnWithoutValuesFitsAnyOther) {
  EXPECT_EQ(column_of({kNulls}).type(), ValueType::kText);
  for (const FileColumn& other : {kInts, kDoubles, kTexts}) {
    EXPECT_EQ(column_of({kNulls, other}).type(), other.type);
    EXPECT_EQ(column_of({other, kNulls}).type(), other.type);
  }
  EXPECT_FALSE(column_of({kNulls, kStructs}).supported());
}

TEST(SetColumnTest, TextAndNumbersNameBothFiles) {
  SetColumn column;
  column.add("nothing.parquet", kNulls);
  column.add("first.parquet", kInts);
  column.add("second.parquet", kDoubles);
  EXPECT_THAT(column.check("third.parquet", kTexts),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       AllOf(HasSubstr("third.parquet, column \"x\" holds text (string), but "),
                             HasSubstr(" (int64) in first.parquet; give files"))));
  EXPECT_THAT(column.check("third.parquet", kStructs),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("values that are not read (struct<a: int8>)")));
  EXPECT_FALSE(column_of({kTexts}).check("b", kDoubles).ok());
  EXPECT_FALSE(column_of({kStructs}).check("b", kDoubles).ok());
}

TEST(SetColumnTest, TypeNamesCountFiles) {
  EXPECT_EQ(column_of({kInts, kInts}).type_name(), "int64");
  EXPECT_EQ(column_of({kInts, kDoubles, kInts}).type_name(), "int64 in 2 files, double in 1");
  EXPECT_EQ(column_of({kNulls, kTexts, kTexts}).type_name(), "null in 1 file, string in 2");
  SetColumn many;
  for (const char* name : {"a", "b", "c", "d", "e", "f"}) {
    many.add("f", {.name = "x", .type = ValueType::kDouble, .type_name = name});
  }
  EXPECT_EQ(many.type_name(), "a in 1 file, b in 1, c in 1, d in 1 and 2 more types");
}

}  // namespace
}  // namespace millrace
