#include "io/look/data_look.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/status_matchers.h"
#include "tests/io_testing/data_files.h"

namespace millrace {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

class DataLookTest : public testing::Test {
 protected:
  std::string write(const std::string& name, const std::string& content) const {
    std::ofstream(join_path(directory_, name), std::ios::binary) << content;
    return join_path(directory_, name);
  }
  std::string write(const std::string& name, const TestTable& table, DataConfig::Format format,
                    int64_t group_rows) const {
    EXPECT_OK(write_data_file(table, format, group_rows, join_path(directory_, name)));
    return join_path(directory_, name);
  }
  absl::StatusOr<DataLook> look(const LookOptions& options) const {
    return look_at_data(FileSystem::local(), options);
  }

  static const ColumnLook& named(const DataLook& look, const std::string& name) {
    const std::vector<ColumnLook>& columns = look.train.columns;
    return *std::find_if(columns.begin(), columns.end(),
                         [&](const ColumnLook& column) { return column.name == name; });
  }

  const std::string directory_ = fresh_test_dir();
};

TEST_F(DataLookTest, ReadsQuotedCells) {
  std::string text = "\"label\";\"city, country\"\r\n";
  for (int i = 0; i < 100; ++i) {
    absl::StrAppend(&text, "\"", i % 2, "\";\"city ", i % 4, ";\n\"\"x\"\"\"\r\n");
  }
  ASSERT_OK_AND_ASSIGN(const DataLook look, this->look({.paths = {write("a.csv", text)}}));
  EXPECT_EQ(look.train.rows, 100);
  EXPECT_EQ(look.train.label.positives, 50);
  EXPECT_EQ(named(look, "label").kind, ValueKind::kInteger);
  EXPECT_EQ(named(look, "city, country").kind, ValueKind::kText);
}

// Inspection of data works without a configuration.
TEST_F(DataLookTest, AdviceAboutQuotesIsForAConfiguration) {
  std::string text = "label,name\n";
  for (int i = 0; i < 100; ++i) absl::StrAppend(&text, i % 2, ",\"quoted\"\n");
  const absl::StatusOr<DataLook> look =
      this->look({.paths = {write("a.csv", text + "1,\"5\" pipe\"\n")}});
  EXPECT_THAT(look.status(),
              StatusIs(absl::StatusCode::kDataLoss,
                       AllOf(HasSubstr("a.csv, line 102"),
                             HasSubstr("; in a configuration set csv { literal_quotes: true } if "),
                             HasSubstr("; this command takes none and guesses"))));
}

TEST_F(DataLookTest, ReadsEveryFormatAlike) {
  std::vector<DataLook> looks;
  for (const auto format : {DataConfig::ORC, DataConfig::PARQUET, DataConfig::TFRECORD}) {
    const std::string path = write(absl::StrCat("a", std::string(extension_of(format))),
                                   criteo_like_table(500, 1, 3), format, 150);
    ASSERT_OK_AND_ASSIGN(looks.emplace_back(), look({.paths = {path}}));
  }
  for (const DataLook& look : looks) {
    EXPECT_EQ(look.train.rows, 500);
    EXPECT_EQ(look.train.sampled_rows, 500);
    EXPECT_EQ(look.label->column, "label");
    EXPECT_EQ(look.train.label.rows, 500);
    EXPECT_EQ(look.train.label.positives, looks[0].train.label.positives);
    const ColumnLook& lists = named(look, "c3");
    EXPECT_EQ(lists.kind, ValueKind::kInteger);
    EXPECT_EQ(lists.max_length, 3);
    EXPECT_GT(lists.missing_share(), 0);
    EXPECT_EQ(lists.distinct, named(looks[0], "c3").distinct);
    EXPECT_EQ(lists.mean_length, named(looks[0], "c3").mean_length);
    EXPECT_EQ(named(look, "i1").kind, ValueKind::kNumber);
  }
}

TEST_F(DataLookTest, SamplesEvenlyAndEstimates) {
  std::string content = "label,unique,few\n";
  for (int i = 0; i < 40000; ++i) absl::StrAppend(&content, i >= 20000, ",", i, ",", i % 7, "\n");
  const std::string path = write("a.csv", content);
  ASSERT_OK_AND_ASSIGN(const DataLook look, this->look({.paths = {path}, .sample_rows = 10000}));
  EXPECT_EQ(look.train.rows, 40000);
  EXPECT_LE(look.train.sampled_rows, 10000);
  EXPECT_GT(look.train.sampled_rows, 8000);
  EXPECT_NEAR(look.train.label.rate(), 0.5, 0.1) << "of both halves";
  EXPECT_DOUBLE_EQ(look.train.columns[1].estimated_distinct, 40000);
  EXPECT_DOUBLE_EQ(look.train.columns[2].estimated_distinct, 7);
}

TEST_F(DataLookTest, CountsLabelsByFile) {
  const std::string a = write("a.csv", "r,x\n5,1\n3,2\n,3\n4,4\n");
  const std::string b = write("b.csv", "x,r\n1,1\n2,2\n");
  ASSERT_OK_AND_ASSIGN(
      const DataLook look,
      this->look({.paths = {a, b}, .label = LabelRule{.column = "r", .at_least = 4}}));
  ASSERT_EQ(look.train.files.size(), 2);
  EXPECT_EQ(look.train.files[0].label.rows, 3);
  EXPECT_EQ(look.train.files[0].label.positives, 2);
  EXPECT_EQ(look.train.files[1].label.rate(), 0);
  EXPECT_DOUBLE_EQ(look.train.label.rate(), 0.4);
  ASSERT_OK_AND_ASSIGN(const DataLook plain,
                       this->look({.paths = {a, b}, .label = LabelRule{.column = "r"}}));
  EXPECT_EQ(plain.train.label.others, 4);
}

TEST_F(DataLookTest, ALabelMayBeMissingAsText) {
  ASSERT_OK_AND_ASSIGN(
      const DataLook look,
      this->look({.paths = {write("a.csv", "label,x\n1,NA\nNA,2.5\n0,3\nnull,4\n")}}));
  EXPECT_EQ(look.train.label.rows, 2);
  EXPECT_EQ(look.train.label.positives, 1);
  EXPECT_EQ(look.train.label.others, 0);
  EXPECT_EQ(named(look, "x").kind, ValueKind::kNumber);
  EXPECT_EQ(named(look, "x").missing_rows, 1);
}

TEST_F(DataLookTest, ALabelMayStandBetweenBlanks) {
  const std::string path = write("a.csv", "user, click\n1, 1\n2, 0\n3, NA\n4, \n5, 1\n");
  for (const auto& label : {std::optional<LabelRule>(), {LabelRule{.column = "click"}}}) {
    ASSERT_OK_AND_ASSIGN(const DataLook look, this->look({.paths = {path}, .label = label}));
    EXPECT_EQ(look.label->column, " click");
    EXPECT_EQ(look.train.label.rows, 3);
    EXPECT_EQ(look.train.label.positives, 2);
    EXPECT_EQ(look.train.label.others, 0);
  }
}

TEST_F(DataLookTest, ALabelMayBeABoolean) {
  const std::string path = write("a.csv", "label,x\nTrue,1\nFalse,2\nNA,3\nTrue,4\n");
  ASSERT_OK_AND_ASSIGN(const DataLook look,
                       this->look({.paths = {path}, .label = LabelRule{.column = "label"}}));
  EXPECT_EQ(look.train.label.rows, 3);
  EXPECT_EQ(look.train.label.positives, 2);
  EXPECT_EQ(look.train.label.others, 0);
}

TEST_F(DataLookTest, FindsColumnsThatEqualTheLabel) {
  const auto equal = [&](int rows, const std::optional<LabelRule>& label) {
    std::string text = "click,copy,flag,other,rating\n";
    for (int i = 0; i < rows; ++i) {
      absl::StrAppend(&text, i == 7 ? "NA" : absl::StrCat(i % 2), ",", i % 2, ".0,",
                      i % 2 ? "True" : "False", ",", i == rows - 1 ? 7 : i % 2, ",", 3 + i % 2,
                      "\n");
    }
    std::vector<std::string> names;
    const absl::StatusOr<DataLook> look =
        this->look({.paths = {write("a.csv", text)}, .label = label});
    EXPECT_OK(look);
    for (const ColumnLook& column : look->train.columns) {
      if (column.equals_label) names.push_back(column.name);
    }
    return names;
  };
  using ::testing::ElementsAre;
  EXPECT_THAT(equal(200, std::nullopt), ElementsAre("copy", "flag"));
  EXPECT_THAT(equal(50, std::nullopt), ElementsAre()) << "perhaps by chance";
  EXPECT_THAT(equal(200, LabelRule{.column = "rating", .at_least = 4}),
              ElementsAre("copy", "flag"));
  EXPECT_THAT(equal(200, LabelRule{.column = "rating", .at_least = 9}), ElementsAre());
}

TEST_F(DataLookTest, FindsColumnsThatGiveTheLabelAway) {
  std::string text = "click,complement,buy,time,price\n";
  for (int i = 0; i < 1000; ++i) {
    const bool click = i % 5 == 0;
    absl::StrAppend(&text, click, ",", !click, ",", i % 10 == 0, ",",
                    click ? absl::StrCat("\"at ", i, "\"") : "", ",", i % 17, "\n");
  }
  ASSERT_OK_AND_ASSIGN(const DataLook look, this->look({.paths = {write("a.csv", text)}}));
  std::vector<std::string> ties, second;
  for (const ColumnLook& column : look.train.columns) {
    if (!column.label_tie.empty()) ties.push_back(column.name);
    if (column.is_second_label) second.push_back(column.name);
  }
  EXPECT_THAT(ties, ::testing::ElementsAre("complement", "buy", "time"));
  EXPECT_THAT(second, ::testing::ElementsAre("buy"));
}

TEST_F(DataLookTest, FindsRowsThatTrainingHas) {
  const std::string train = write("train.csv", "label,x,y\n0,1,a\n1,2,b\n0,3,c\n");
  // Columns in another order; a row, one that differs in a cell, and one twice.
  const std::string eval = write("eval.csv", "y,label,x\na,0,1\nb,1,7\nc,0,3\nc,0,3\n");
  ASSERT_OK_AND_ASSIGN(const DataLook look, this->look({.paths = {train}, .eval_paths = {eval}}));
  EXPECT_EQ(look.eval->rows, 4);
  EXPECT_EQ(look.leaked_rows, 3);
}

TEST_F(DataLookTest, FindsColumnsOfEvaluationDataWithNewValuesOnly) {
  std::string text = "label,user,item\n", prefixed = text;
  for (int row = 0; row < 100; ++row) {
    absl::StrAppend(&text, row % 2, ",u", row, ",", row, "\n");
    absl::StrAppend(&prefixed, row % 2, ",user", row, ",", 99 + row, "\n");
  }
  const std::string train = write("train.csv", text), eval = write("eval.csv", prefixed);
  ASSERT_OK_AND_ASSIGN(const DataLook look, this->look({.paths = {train}, .eval_paths = {eval}}));
  std::vector<std::string> names;
  for (const ColumnLook& column : look.eval->columns) {
    if (column.has_new_values_only) names.push_back(column.name);
  }
  EXPECT_THAT(names, ::testing::ElementsAre("user"));
}

TEST_F(DataLookTest, RefusesFilesOfDifferentSchemas) {
  const std::string a = write("a.csv", "label,x\n0,1\n");
  const std::string b = write("b.csv", "label,z\n0,1\n");
  const std::string c = write("c.csv", "label,x,z\n0,1,2\n");
  EXPECT_THAT(look({.paths = {a, b}}),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       AllOf(HasSubstr("b.csv has no column \"x\""), HasSubstr("a.csv"))));
  EXPECT_THAT(look({.paths = {a, c}}),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("has a column \"z\"")));
  EXPECT_THAT(look({.paths = {a}, .eval_paths = {b}}),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("b.csv has no column")));
  const TestTable integers{{{"label", TestColumn::Rows<int64_t>{{0}}}}};
  const TestTable texts{{{"label", TestColumn::Rows<std::string>{{"0"}}}}};
  EXPECT_THAT(look({.paths = {write("i.orc", integers, DataConfig::ORC, 0),
                              write("t.orc", texts, DataConfig::ORC, 0)}}),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       AllOf(HasSubstr("t.orc, column \"label\" holds text (string)"),
                             HasSubstr("(int64) in"), HasSubstr("i.orc"))));
}

TEST_F(DataLookTest, RefusesColumnsThatCannotBeToldApart) {
  EXPECT_THAT(look({.paths = {write("a.csv", "x,label,x\n1,0,2\n3,1,4\n")}}),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       AllOf(HasSubstr("a.csv: columns 1 and 3 are both named \"x\""),
                             HasSubstr("another name in the first line"))));
  EXPECT_THAT(look({.paths = {write("b.csv", "x,label,,\n1,0,,\n3,1,,\n")}}),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("b.csv: columns 3 and 4 have no name")));
  ASSERT_OK_AND_ASSIGN(const DataLook index,
                       this->look({.paths = {write("c.csv", ",label\n0,1\n1,0\n")}}));
  EXPECT_EQ(index.train.rows, 2);
  EXPECT_EQ(index.train.columns[0].name, "");
}

TEST_F(DataLookTest, ColumnsOfSeveralTypesOfNumbersAreNumbers) {
  const TestTable integers{{{"label", TestColumn::Rows<int64_t>{{0}, {1}}},
                            {"id", TestColumn::Rows<int64_t>{{5}, {6}}}}};
  const TestTable numbers{
      {{"label", TestColumn::Rows<double>{{0}, {1}}}, {"id", TestColumn::Rows<double>{{5}, {}}}}};
  const std::string a = write("a.parquet", integers, DataConfig::PARQUET, 0);
  const std::string b = write("b.orc", numbers, DataConfig::ORC, 0);
  const std::string c = write("c.parquet", integers, DataConfig::PARQUET, 0);
  for (const std::vector<std::string>& paths : {std::vector{a, b, c}, std::vector{b, c, a}}) {
    ASSERT_OK_AND_ASSIGN(const DataLook look, this->look({.paths = paths}));
    const ColumnLook& id = named(look, "id");
    EXPECT_EQ(id.kind, ValueKind::kNumber);
    EXPECT_TRUE(id.is_mixed);
    EXPECT_TRUE(id.is_whole);
    EXPECT_EQ(id.distinct, 2) << "5 and 5.0 are one value";
    EXPECT_EQ(id.missing_rows, 1);
    EXPECT_THAT(id.type_name, AllOf(HasSubstr("int64 in 2"), HasSubstr("double in 1")));
    EXPECT_EQ(look.train.label.positives, 3);
  }
  ASSERT_OK_AND_ASSIGN(const DataLook look, this->look({.paths = {a}, .eval_paths = {b}}));
  EXPECT_EQ(look.leaked_rows, 1);
  EXPECT_FALSE(named(look, "id").is_mixed) << "of the evaluation data";
  const auto id = std::find_if(look.eval->columns.begin(), look.eval->columns.end(),
                               [](const ColumnLook& column) { return column.name == "id"; });
  EXPECT_EQ(id->type_name, "double") << "of the evaluation data alone";
  EXPECT_FALSE(id->is_mixed);
}

TEST_F(DataLookTest, DirectoriesOfPathsAreColumns) {
  for (const char* directory : {"day=1/city=a", "day=1/city=b", "day=2/city=a"}) {
    ASSERT_OK(FileSystem::local().create_directories(join_path(directory_, directory)));
    write(absl::StrCat(directory, "/x.csv"), "label,x\n0,1\n1,2\n");
  }
  const std::string all = join_path(directory_, "**/*.csv");
  ASSERT_OK_AND_ASSIGN(const DataLook look, this->look({.paths = {all}}));
  ASSERT_EQ(look.train.columns.size(), 4);
  EXPECT_EQ(named(look, "day").type_name, "partition");
  EXPECT_EQ(named(look, "day").kind, ValueKind::kInteger);
  EXPECT_TRUE(named(look, "day").is_partition);
  EXPECT_EQ(named(look, "day").max, 2);
  EXPECT_EQ(named(look, "city").kind, ValueKind::kText);
  EXPECT_EQ(named(look, "city").distinct, 2);
  EXPECT_FALSE(named(look, "x").is_partition);
}

TEST_F(DataLookTest, PartitionsThatNotEveryFileHasAreLeftOut) {
  ASSERT_OK(FileSystem::local().create_directories(join_path(directory_, "day=1/city=a")));
  const std::string text = "label,x\n0,1\n1,2\n";
  const std::string a = write("day=1/city=a/x.csv", text), b = write("day=1/x.csv", text),
                    c = write("x.csv", text);
  const auto names = [&](const LookOptions& options) {
    std::vector<std::string> names;
    const absl::StatusOr<DataLook> look = this->look(options);
    EXPECT_OK(look);
    for (const ColumnLook& column : look->train.columns) names.push_back(column.name);
    return names;
  };
  using ::testing::ElementsAre;
  EXPECT_THAT(names({.paths = {a, b}}), ElementsAre("label", "x", "day"));
  EXPECT_THAT(names({.paths = {b, a}}), ElementsAre("label", "x", "day"));
  EXPECT_THAT(names({.paths = {a, b, c}}), ElementsAre("label", "x"));
  EXPECT_THAT(names({.paths = {a}, .eval_paths = {c}}), ElementsAre("label", "x"));
  ASSERT_OK_AND_ASSIGN(const DataLook look, this->look({.paths = {a}, .eval_paths = {c}}));
  EXPECT_EQ(look.leaked_rows, 2) << "compared by the columns that both have";
}

TEST_F(DataLookTest, RefusesLabelsThatAreNone) {
  const std::string path = write("a.csv", "rating,x\n3,a\n4,b\n");
  const auto with = [&](const std::string& column) {
    return LookOptions{.paths = {path}, .label = LabelRule{.column = column}};
  };
  EXPECT_THAT(look(with("ratng")), StatusIs(absl::StatusCode::kInvalidArgument,
                                            AllOf(HasSubstr("no column \"ratng\" for the label"),
                                                  HasSubstr("did you mean \"rating\"?"))));
  EXPECT_THAT(look(with("x")),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("a label is a number")));
  EXPECT_THAT(look({.paths = {write("b.csv", "r;x\n1,5;1\n0,5;2\n")},
                    .label = LabelRule{.column = "r", .at_least = 1}}),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("decimal points instead of commas, as in 1,5")));
  ASSERT_OK_AND_ASSIGN(const DataLook none, look({.paths = {path}}));
  EXPECT_FALSE(none.label.has_value());
}

TEST_F(DataLookTest, RefusesFilesWithoutRowsAndTooManyColumns) {
  EXPECT_THAT(look({.paths = {write("a.csv", "label,x\n")}}),
              StatusIs(absl::StatusCode::kDataLoss, HasSubstr("no rows in")));
  std::string names = "label", cells = "0";
  for (int i = 0; i < 1000000; ++i) {
    absl::StrAppend(&names, ",x", i);
    absl::StrAppend(&cells, ",1");
  }
  EXPECT_THAT(look({.paths = {write("wide.csv", absl::StrCat(names, "\n", cells, "\n"))}}),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("has 1000001 columns, more than the 10000")));
  EXPECT_THAT(look({.paths = {write("b.csv", "label,x\n0\n")}}),
              StatusIs(absl::StatusCode::kDataLoss, HasSubstr("b.csv, line 2")));
}

}  // namespace
}  // namespace millrace
