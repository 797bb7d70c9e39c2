#include "tools/look/look_report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"

namespace millrace {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using Json = nlohmann::json;

ColumnLook number_column(const std::string& name) {
  ColumnLook look{.name = name, .type_name = "double", .kind = ValueKind::kNumber};
  look.rows = 1000;
  look.missing_rows = 123;
  look.values = 877;
  look.distinct = 500;
  look.estimated_distinct = 123456;
  look.top_share = 0.25;
  look.top_ten_share = 1;
  look.max_length = 98765;
  look.min = -0.001234567;
  look.mean = -123456.7;
  look.standard_deviation = 0.009876543;
  look.not_a_number = 3;
  look.max = 1.7e300;
  look.quantiles = {look.min, look.max};
  return look;
}

DataLook example() {
  DataLook look;
  look.label = LabelRule{.column = "rating", .at_least = 4};
  look.train.format = "Parquet";
  look.train.rows = 100000;
  look.train.sampled_rows = 1000;
  look.train.columns = {number_column("a_name_of_a_column_that_is_ürgently_too_long")};
  ColumnLook nested{.name = "s", .type_name = "struct<" + std::string(200, 'x') + ">"};
  look.train.columns.push_back(nested);
  look.train.label = {.rows = 900, .positives = 90, .others = 0};
  look.train.files = {{.path = std::string(100, 'd') + "/part-0.parquet", .rows = 60000},
                      {.path = "part-1.parquet", .rows = 40000}};
  look.train.files[1].label = {.rows = 10, .positives = 5, .others = 2};
  look.eval = look.train;
  look.leaked_rows = 20;
  return look;
}

TEST(LookReport, FitsATerminalOf80Columns) {
  const std::string text = look_text(example());
  for (const std::string& line : std::vector<std::string>(absl::StrSplit(text, '\n'))) {
    EXPECT_LE(line.size(), 80) << line;
  }
  EXPECT_THAT(text, HasSubstr("not read: s: struct<"));
}

TEST(LookReport, LongNamesAndPathsCanBeToldApart) {
  DataLook look = example();
  look.train.columns.clear();
  look.train.files.clear();
  for (const char* number : {"01", "02"}) {
    const std::string name = absl::StrCat(std::string(40, 'n'), number, std::string(40, 'm'));
    look.train.columns.push_back(number_column(name));
    look.train.files.push_back(
        {.path = absl::StrCat("/data/", std::string(60, 'd'), "/day=", number, "/part-0.parquet")});
  }
  look.train.columns.push_back(number_column("a_name_of_20_letters"));
  look.eval.reset();
  const std::string text = look_text(look);
  for (const std::string& line : std::vector<std::string>(absl::StrSplit(text, '\n'))) {
    EXPECT_LE(line.size(), 80) << line;
  }
  EXPECT_THAT(text, AllOf(HasSubstr("\nnnnnnn"), HasSubstr("~#1 "), HasSubstr("~#2 ")));
  EXPECT_THAT(text, HasSubstr("  day=01/part-0.parquet: "));
  EXPECT_THAT(text, HasSubstr("  day=02/part-0.parquet: "));
}

TEST(LookReport, NamesGetTheRestOfALine) {
  DataLook look = example();
  ColumnLook text{.name = "a_name_of_some_25_letters", .type_name = "text"};
  text.kind = ValueKind::kText;
  look.train.columns = {text};
  EXPECT_THAT(look_text(look), HasSubstr("\na_name_of_some_25_letters  text "));
}

TEST(LookReport, ShowsDatesAsDates) {
  DataLook look = example();
  ColumnLook& day = look.train.columns[0];
  day.name = "day";
  day.holds_dates = true;
  day.min = 20240101;
  day.max = 20240131;
  const std::string text = look_text(look);
  EXPECT_THAT(text, AllOf(HasSubstr("\nday"), HasSubstr(" date "), Not(HasSubstr("20.2M"))));
  EXPECT_THAT(text, HasSubstr("\ndates: day: 20240101 to 20240131\n"));
  EXPECT_EQ(Json::parse(look_json(look))["data"]["columns"][0]["dates"], true);
}

TEST(LookReport, ManyPartitionsTakeSeveralLines) {
  DataLook look = example();
  for (int i = 0; i < 9; ++i) {
    look.train.columns.push_back(number_column(absl::StrCat("partition_", i)));
    look.train.columns.back().is_partition = true;
  }
  EXPECT_THAT(look_text(look),
              AllOf(HasSubstr("\npartition: partition_0, "), HasSubstr(", partition_8\n")));
}

TEST(LookReport, ANameWithALineBreakIsOnOneLine) {
  DataLook look = example();
  look.train.columns[0].name = "price\n(USD)";
  EXPECT_THAT(look_text(look), HasSubstr("price (USD)"));
}

TEST(LookReport, NamesPartitionsAndColumnsOfSeveralTypes) {
  DataLook look = example();
  EXPECT_THAT(look_text(look), AllOf(Not(HasSubstr("mixed: ")), Not(HasSubstr("partition: "))));
  ColumnLook mixed = number_column("user_id");
  mixed.is_mixed = true;
  mixed.type_name = "int64 in 3 files, double in 1";
  look.train.columns.push_back(mixed);
  for (const char* name : {"day", "country"}) {
    look.train.columns.push_back(number_column(name));
    look.train.columns.back().is_partition = true;
    look.train.columns.back().type_name = "partition";
  }
  const std::string text = look_text(look);
  EXPECT_THAT(text, HasSubstr("\nmixed: user_id: int64 in 3 files, double in 1\n"));
  EXPECT_THAT(text, HasSubstr("\npartition: day, country\n"));
  const Json columns = Json::parse(look_json(look))["data"]["columns"];
  EXPECT_EQ(columns[2]["type"], "int64 in 3 files, double in 1");
  EXPECT_EQ(columns[2]["kind"], "number");
  EXPECT_EQ(columns[3]["type"], "partition");
}

TEST(LookReport, NamesTextsForMissingValuesAndDecimalCommas) {
  DataLook look = example();
  look.train.columns[0].name = "age";
  look.train.columns[0].missing_texts = {{"N/A", 3}, {"NA", 120}};
  ColumnLook price{.name = "price", .type_name = "text", .kind = ValueKind::kText};
  price.decimal_comma = "12,5";
  look.train.columns.push_back(price);
  const std::string text = look_text(look);
  EXPECT_THAT(text, HasSubstr("\nmissing: age: N/A in 3, NA in 120 cells, 3 not-a-number\n"));
  EXPECT_THAT(text, HasSubstr("\ntext for its decimal commas: price: such as 12,5\n"));
  const Json columns = Json::parse(look_json(look))["data"]["columns"];
  EXPECT_EQ(columns[0]["missing_texts"]["NA"], 120);
  EXPECT_EQ(columns[2]["decimal_comma"], "12,5");
  EXPECT_FALSE(columns[2].contains("missing_texts"));
}

TEST(LookReport, SaysWhyNumbersAreText) {
  DataLook look = example();
  ColumnLook price{.name = "price", .type_name = "text", .kind = ValueKind::kText};
  price.values = 6000;
  price.odd_cells = 1;
  price.odd_texts = {"oops"};
  ColumnLook share{.name = "share", .type_name = "text", .kind = ValueKind::kText};
  share.near_number = "12.3%";
  look.train.columns = {price, share};
  const std::string text = look_text(look);
  EXPECT_THAT(text, HasSubstr("\ntext for cells that are no numbers: price: 1 of 6000, such as "
                              "\"oops\"\n"));
  EXPECT_THAT(text,
              HasSubstr("\ntext for its percent signs, commas or blanks: share: such as 12.3%\n"));
  const Json columns = Json::parse(look_json(look))["data"]["columns"];
  EXPECT_EQ(columns[0]["odd_cells"], 1);
  EXPECT_EQ(columns[0]["odd_texts"][0], "oops");
  EXPECT_EQ(columns[1]["near_number"], "12.3%");
}

TEST(LookReport, NamesWholeNumbersBeyondInt64) {
  DataLook look = example();
  ColumnLook ids{.name = "user_id", .type_name = "text", .kind = ValueKind::kText};
  ids.long_integer = "14427431683600209446";
  look.train.columns.push_back(ids);
  EXPECT_THAT(look_text(look), HasSubstr("\ntext, being beyond int64: user_id: such as 1442743"));
  EXPECT_EQ(Json::parse(look_json(look))["data"]["columns"][2]["long_integer"],
            "14427431683600209446");
}

TEST(LookReport, NamesListsInCells) {
  DataLook look = example();
  look.train.columns[0].name = "history";
  look.train.columns[0].list_cell = "470|1|2|3";
  look.train.columns[0].list_delimiter = '|';
  EXPECT_THAT(look_text(look), HasSubstr("\nlists in cells: history: such as 470|1|2|3: set "
                                         "csv.list_delimiter: \"|\"\n"));
  EXPECT_EQ(Json::parse(look_json(look))["data"]["columns"][0]["list_delimiter"], "|");
  look.train.columns[1].delimiters = "|";
  EXPECT_THAT(look_text(look),
              HasSubstr("such as 470|1|2|3: text: no csv.list_delimiter fits all\n"));
}

TEST(LookReport, NamesColumnsWithBlanks) {
  DataLook look = example();
  EXPECT_THAT(look_text(look), Not(HasSubstr("blanks around")));
  look.train.columns[0].name = " age";
  look.train.columns[0].has_blanks = true;
  look.train.columns[0].missing_texts = {{" NA", 120}};
  const std::string text = look_text(look);
  EXPECT_THAT(text, HasSubstr("\nblanks around cells or names: age\nnumbers are read without"));
  EXPECT_THAT(text, HasSubstr("\nmissing:  age: \" NA\" in 120 cells"));
  for (const std::string& line : std::vector<std::string>(absl::StrSplit(text, '\n'))) {
    EXPECT_LE(line.size(), 80) << line;
  }
  EXPECT_EQ(Json::parse(look_json(look))["data"]["columns"][0]["blanks"], true);
}

TEST(LookReport, NamesColumnsThatEqualTheLabel) {
  DataLook look = example();
  EXPECT_THAT(look_text(look), Not(HasSubstr("equals the label")));
  look.train.columns[0].name = "copy";
  look.train.columns[0].equals_label = true;
  EXPECT_THAT(look_text(look), HasSubstr("\nequals the label in every row: copy: leave it out\n"));
  EXPECT_EQ(Json::parse(look_json(look))["data"]["columns"][0]["equals_label"], true);
}

TEST(LookReport, ShowsBooleans) {
  DataLook look = example();
  look.train.columns[0].name = "is_new";
  look.train.columns[0].is_boolean = true;
  EXPECT_THAT(look_text(look), HasSubstr("\nis_new  bool  "));
  EXPECT_EQ(Json::parse(look_json(look))["data"]["columns"][0]["boolean"], true);
}

TEST(LookReport, ShowsStatisticsInUnits) {
  const std::string text = look_text(example());
  for (const char* part : {"data: Parquet, 2 files, 100000 rows, 2 columns", "~123k", "25.0",
                           "12.3", "-123k", "0.00988", "98.8k", "-0.00123", "2e+300"}) {
    EXPECT_THAT(text, HasSubstr(part));
  }
}

TEST(LookReport, ShowsLabelsByFileAndLeakage) {
  const std::string text = look_text(example());
  EXPECT_THAT(text, HasSubstr("label rating>=4: 10.0 % of 900 are 1\n"));
  EXPECT_THAT(text, HasSubstr("/part-0.parquet: 0.00 % of 0 are 1\n"));
  EXPECT_THAT(text, HasSubstr("part-1.parquet: 50.0 % of 10 are 1, 2 are neither 0 nor 1\n"));
  EXPECT_THAT(text, HasSubstr("leakage: at least 2.00 % of 1000 evaluation rows"));
  DataLook all = example();
  all.train.sampled_rows = all.train.rows;
  EXPECT_THAT(look_text(all), HasSubstr("leakage: 2.00 %"));
}

TEST(LookReport, WithoutALabelSaysWhatToDo) {
  DataLook look = example();
  look.label.reset();
  look.eval.reset();
  EXPECT_THAT(look_text(look), HasSubstr("give --label COLUMN"));
  EXPECT_THAT(look_text(look), Not(HasSubstr("leakage")));
  EXPECT_FALSE(Json::parse(look_json(look)).contains("label"));
}

TEST(LookReport, JsonHasAllOfIt) {
  const Json json = Json::parse(look_json(example()));
  EXPECT_EQ(json["label"]["column"], "rating");
  EXPECT_EQ(json["label"]["at_least"], 4);
  EXPECT_EQ(json["data"]["rows"], 100000);
  EXPECT_EQ(json["data"]["files"][1]["label"]["rate"], 0.5);
  EXPECT_EQ(json["data"]["columns"][0]["distinct"], 500);
  EXPECT_EQ(json["data"]["columns"][0]["distinct_estimate"], 123456);
  EXPECT_EQ(json["data"]["columns"][0]["mean"], -123456.7);
  EXPECT_EQ(json["data"]["columns"][0]["standard_deviation"], 0.009876543);
  EXPECT_EQ(json["data"]["columns"][0]["not_a_number"], 3);
  EXPECT_EQ(json["data"]["columns"][1]["kind"], "unreadable");
  EXPECT_EQ(json["leaked_rows"], 20);
}

using Names = std::vector<std::string>;

TEST(ShortNames, AreCutInTheMiddle) {
  EXPECT_THAT(short_names(Names{"user", "clicks_of_the_day", "twelve_bytes"}, 12),
              ElementsAre("user", "click~he_day", "twelve_bytes"));
  EXPECT_THAT(short_names(Names{"a\nb\tc"}, 12), ElementsAre("a b c"));
  EXPECT_THAT(short_names({}, 12), IsEmpty());
}

TEST(ShortNames, CanBeToldApart) {
  EXPECT_THAT(short_names(Names{"feature_0001_of_clicks", "feature_0002_of_clicks", "f"}, 12),
              ElementsAre("feature_0~#1", "feature_0~#2", "f"));
}

TEST(ShortNames, CharactersStayWhole) {
  const std::string name = "\xc3\xa4\xc3\xb6\xc3\xbc\xc3\xa4\xc3\xb6\xc3\xbc\xc3\xa4";
  EXPECT_THAT(short_names(Names{name}, 12),
              ElementsAre("\xc3\xa4\xc3\xb6~\xc3\xb6\xc3\xbc\xc3\xa4"));
}

TEST(ShortNames, PathsLoseTheDirectoriesOfAll) {
  EXPECT_THAT(without_common_directories({"/data/day=1/a.csv", "/data/day=2/a.csv"}),
              ElementsAre("day=1/a.csv", "day=2/a.csv"));
  EXPECT_THAT(without_common_directories({"/data/a1.csv", "/data/a2.csv"}),
              ElementsAre("a1.csv", "a2.csv"));
  EXPECT_THAT(without_common_directories({"a.csv", "a.csv.old"}),
              ElementsAre("a.csv", "a.csv.old"));
  EXPECT_THAT(without_common_directories({"/x/a.csv", "y/a.csv"}),
              ElementsAre("/x/a.csv", "y/a.csv"));
  EXPECT_THAT(without_common_directories({}), IsEmpty());
}

}  // namespace
}  // namespace millrace
