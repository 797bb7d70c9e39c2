#include "job/draft/feature_draft.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace millrace {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

// Returns numbers whose quantiles are spaced evenly between these three.
std::vector<double> quantiles(double least, double middle, double greatest) {
  std::vector<double> values;
  for (int i = 0; i <= 100; ++i) {
    values.push_back(i < 50 ? least + (middle - least) * i / 50
                            : middle + (greatest - middle) * (i - 50) / 50);
  }
  return values;
}

// Returns a column of a sample of 1000 rows.
ColumnLook column(const std::string& name, ValueKind kind, int64_t distinct) {
  ColumnLook look{.name = name, .type_name = "t", .kind = kind, .rows = 1000, .values = 1000};
  look.distinct = distinct;
  look.estimated_distinct = static_cast<double>(distinct);
  look.max_length = 1;
  look.is_whole = kind == ValueKind::kInteger;
  return look;
}

ColumnLook numbers(const std::string& name, ValueKind kind, int64_t distinct,
                   std::vector<double> values) {
  ColumnLook look = column(name, kind, distinct);
  look.quantiles = std::move(values);
  look.min = look.quantiles.front();
  look.max = look.quantiles.back();
  look.most_frequent = static_cast<int64_t>(look.min);
  return look;
}

FeatureDraft draft(const ColumnLook& look) {
  DataLook data;
  data.train.columns = {look};
  return draft_features(data).at(0);
}

std::string transforms_of(const FeatureDraft& draft) {
  std::string text;
  for (const TransformConfig& transform : draft.feature.transform()) {
    text += transform.ShortDebugString() + ";";
  }
  return text;
}

TEST(FeatureDraft, TextIsHashed) {
  const FeatureDraft text = draft(column("city", ValueKind::kText, 40));
  EXPECT_EQ(text.feature.kind(), FeatureConfig::SPARSE);
  EXPECT_TRUE(text.feature.transform(0).has_hash());
  EXPECT_FALSE(text.note.empty());
}

TEST(FeatureDraft, IdsAndFewValuesAreSparse) {
  for (const ColumnLook& look :
       {numbers("user_id", ValueKind::kInteger, 400, quantiles(0, 5, 900)),
        numbers("c1", ValueKind::kInteger, 400, quantiles(4e8, 5e11, 1e12)),
        numbers("weekday", ValueKind::kInteger, 7, quantiles(0, 3, 6))}) {
    EXPECT_EQ(draft(look).feature.kind(), FeatureConfig::SPARSE) << look.name;
    EXPECT_EQ(transforms_of(draft(look)), "") << look.name;
    ColumnLook cells = look;
    cells.is_delimited_text = true;
    EXPECT_TRUE(draft(cells).feature.transform(0).has_hash()) << look.name;
  }
  ColumnLook list = numbers("clicked", ValueKind::kInteger, 400, quantiles(0, 5, 900));
  list.max_length = 7;
  EXPECT_EQ(draft(list).feature.kind(), FeatureConfig::SPARSE) << "no count is a list";
}

TEST(FeatureDraft, IdsThatBecameNumbersAreCast) {
  ColumnLook look = numbers("item_id", ValueKind::kNumber, 400, quantiles(0, 5, 900));
  look.is_whole = true;
  EXPECT_TRUE(draft(look).feature.transform(0).has_cast());
  look.is_whole = false;
  EXPECT_EQ(draft(look).feature.kind(), FeatureConfig::DENSE);
}

TEST(FeatureDraft, IdsThatAreNumbersInSomeFilesAreIntegers) {
  ColumnLook look = numbers("c1", ValueKind::kNumber, 400, quantiles(4e8, 5e11, 1e12));
  look.is_mixed = look.is_whole = true;
  EXPECT_EQ(draft(look).feature.kind(), FeatureConfig::SPARSE);
  EXPECT_EQ(transforms_of(draft(look)), "") << "they are cast without one";
  EXPECT_THAT(draft(look).note, HasSubstr("stored as numbers in some files"));
  ColumnLook count = numbers("i1", ValueKind::kNumber, 300, quantiles(0, 3, 5000));
  count.is_mixed = count.is_whole = true;
  EXPECT_EQ(draft(count).feature.kind(), FeatureConfig::DENSE);
  look.is_whole = false;
  EXPECT_EQ(draft(look).feature.kind(), FeatureConfig::DENSE);
}

TEST(FeatureDraft, PartitionsAreFeaturesUnlessByTime) {
  const auto partition = [](ColumnLook look) {
    look.is_partition = look.is_delimited_text = true;
    return draft(look);
  };
  const FeatureDraft country = partition(column("country", ValueKind::kText, 20));
  EXPECT_TRUE(country.is_used);
  EXPECT_TRUE(country.feature.transform(0).has_hash());
  for (const char* name : {"day", "event_date", "dt", "hour", "snapshotVersion"}) {
    const FeatureDraft time = partition(column(name, ValueKind::kText, 20));
    EXPECT_FALSE(time.is_used) << name;
    EXPECT_THAT(time.note, HasSubstr("a partition by time"));
    EXPECT_TRUE(draft(column(name, ValueKind::kText, 20)).is_used) << "of a file: " << name;
  }
  ColumnLook dates = numbers("p", ValueKind::kInteger, 30, quantiles(20240101, 2e7, 20240130));
  dates.holds_dates = true;
  EXPECT_FALSE(partition(dates).is_used);
  dates.kind = ValueKind::kText;
  EXPECT_FALSE(partition(dates).is_used);
  EXPECT_TRUE(partition(numbers("shop", ValueKind::kInteger, 30, quantiles(1, 15, 30))).is_used);
}

TEST(FeatureDraft, CountsAndNumbersAreDense) {
  const FeatureDraft count = draft(numbers("i1", ValueKind::kInteger, 300, quantiles(0, 3, 5000)));
  EXPECT_EQ(count.feature.kind(), FeatureConfig::DENSE);
  EXPECT_TRUE(count.feature.transform(0).has_log1p());
  EXPECT_EQ(count.feature.default_value(), 0);
  const FeatureDraft score = draft(numbers("score", ValueKind::kNumber, 900, quantiles(-1, 0, 1)));
  EXPECT_EQ(score.feature.kind(), FeatureConfig::DENSE);
  EXPECT_EQ(transforms_of(score), "");
}

TEST(FeatureDraft, NumbersAreStandardizedUnlessTheyNearlyAreStandard) {
  const auto transforms = [](double mean, double deviation) {
    ColumnLook look = numbers("height", ValueKind::kNumber, 900,
                              quantiles(mean - 2 * deviation, mean, mean + 2 * deviation));
    look.mean = mean;
    look.standard_deviation = deviation;
    return transforms_of(draft(look));
  };
  EXPECT_EQ(transforms(170.12345, 9.876543),
            "standardize { mean: 170.123 standard_deviation: 9.877 };");
  EXPECT_EQ(transforms(-1234567, 345678),
            "standardize { mean: -1234567 standard_deviation: 345700 };");
  EXPECT_EQ(transforms(0.0001234, 0.000012345),
            "standardize { mean: 0.0001234 standard_deviation: 1.234e-05 };");
  EXPECT_EQ(transforms(4, 0.5), "standardize { mean: 4 standard_deviation: 0.5 };");
  EXPECT_EQ(transforms(0.5, 0.3), "");
  EXPECT_EQ(transforms(100, 0), "") << "one value, and rows without any";
}

TEST(FeatureDraft, NotANumberIsMissing) {
  ColumnLook score = numbers("score", ValueKind::kNumber, 900, quantiles(-1, 0, 1));
  score.standard_deviation = 0.5;
  score.not_finite = score.not_a_number = 5;
  EXPECT_EQ(transforms_of(draft(score)), "missing_values { nan: true };");
  ColumnLook ids = numbers("item_id", ValueKind::kNumber, 400, quantiles(0, 5, 900));
  ids.is_whole = true;
  ids.not_finite = ids.not_a_number = 5;
  EXPECT_EQ(transforms_of(draft(ids)), "missing_values { nan: true };cast { };");
  score.not_finite = score.not_a_number = score.missing_rows = score.rows;
  score.values = 0;
  EXPECT_THAT(draft(score).note, HasSubstr("all null or not-a-number"));
}

TEST(FeatureDraft, MissingTextsAreRemovedFromNumbersAndIds) {
  ColumnLook score = numbers("score", ValueKind::kNumber, 900, quantiles(-1, 0, 1));
  score.standard_deviation = 0.5;
  score.is_delimited_text = true;
  score.missing_texts = {{"NA", 3}, {"nan", 2}};
  EXPECT_EQ(draft(score).feature.kind(), FeatureConfig::DENSE);
  const std::string plain =
      R"(text: "#N/A" text: "#NA" text: "<NA>" text: "N/A" text: "NA" text: "NULL" )";
  EXPECT_EQ(transforms_of(draft(score)),
            "missing_values { " + plain +
                R"(text: "None" text: "\\N" text: "n/a" text: "null" nan: true };)");
  ColumnLook ids = numbers("c1", ValueKind::kInteger, 400, quantiles(4e8, 5e11, 1e12));
  ids.is_delimited_text = true;
  ids.missing_texts = score.missing_texts;
  EXPECT_EQ(transforms_of(draft(ids)),
            "missing_values { " + plain +
                R"(text: "NaN" text: "None" text: "\\N" text: "n/a" text: "nan" text: "null" };)"
                "hash { };");
  ids.missing_texts = score.missing_texts = {{" NA", 3}, {"  ", 2}};
  EXPECT_THAT(transforms_of(draft(score)), AllOf(HasSubstr("\"NA\""), Not(HasSubstr("text: \" "))));
  EXPECT_THAT(transforms_of(draft(ids)), AllOf(HasSubstr("\" NA\""), HasSubstr("\"  \"")))
      << "text is compared with its blanks";
  score.missing_texts = {{"nan", 2}};
  EXPECT_EQ(transforms_of(draft(score)), "missing_values { nan: true };");
  ColumnLook none = column("e", ValueKind::kText, 0);
  none.values = 0;
  none.missing_texts = {{"NULL", 1000}};
  EXPECT_THAT(draft(none).note, HasSubstr("all null"));
}

TEST(FeatureDraft, MissingTextsOfTheEvaluationDataCount) {
  DataLook data;
  data.train.columns = {numbers("score", ValueKind::kNumber, 900, quantiles(-1, 0, 1)),
                        column("country", ValueKind::kText, 40)};
  data.train.columns[0].standard_deviation = 0.5;
  data.eval = data.train;
  for (ColumnLook& column : data.eval->columns) column.missing_texts = {{"1.#IND", 1}};
  const std::vector<FeatureDraft> drafts = draft_features(data);
  EXPECT_THAT(transforms_of(drafts[0]), AllOf(HasSubstr("1.#IND"), HasSubstr("\"NA\"")));
  EXPECT_EQ(transforms_of(drafts[1]), "hash { };") << "text";
}

TEST(FeatureDraft, NamesIdsOfAnotherFormInTheEvaluationData) {
  DataLook data;
  data.train.columns = {column("user", ValueKind::kInteger, 400)};
  data.train.columns[0].is_delimited_text = true;
  data.eval = data.train;
  ColumnLook& eval = data.eval->columns[0];
  const auto note = [&] { return draft_features(data)[0].note; };
  EXPECT_THAT(note(), Not(HasSubstr("evaluation")));
  eval.kind = ValueKind::kNumber;
  EXPECT_THAT(note(), HasSubstr("the column is of kind number, not integer as in training"));
  eval.kind = ValueKind::kInteger;
  eval.has_new_values_only = true;
  EXPECT_THAT(note(), HasSubstr("no value that was looked at is one of training"));
  eval.has_blanks = true;
  EXPECT_THAT(note(), HasSubstr("cells have blanks around them"));
  eval.kind = ValueKind::kText;
  EXPECT_THAT(note(), HasSubstr("the column is of kind text, not integer as in training"));
}

TEST(FeatureDraft, SaysThatDecimalCommasAreText) {
  ColumnLook price = column("price", ValueKind::kText, 400);
  price.decimal_comma = "12,5";
  EXPECT_TRUE(draft(price).feature.transform(0).has_hash());
  EXPECT_THAT(draft(price).note, HasSubstr("decimal commas, such as 12,5"));
  price.distinct = price.rows;
  EXPECT_FALSE(draft(price).is_used);
  EXPECT_THAT(draft(price).note, HasSubstr("decimal commas, such as 12,5"));
}

TEST(FeatureDraft, SaysWhyNumbersAreText) {
  ColumnLook price = column("price", ValueKind::kText, 400);
  price.odd_cells = 2;
  price.odd_texts = {"oops", "?"};
  EXPECT_TRUE(draft(price).feature.transform(0).has_hash());
  EXPECT_THAT(draft(price).note,
              AllOf(HasSubstr("2 of 1000, such as \"oops\", \"?\""), HasSubstr("missing_values")));
  price.distinct = price.rows;
  EXPECT_FALSE(draft(price).is_used);
  EXPECT_THAT(draft(price).note, HasSubstr("2 of 1000"));
  ColumnLook share = column("share", ValueKind::kText, 400);
  share.near_number = "12.3%";
  EXPECT_THAT(draft(share).note, HasSubstr("percent signs, commas or blanks, such as 12.3%"));
}

TEST(FeatureDraft, WholeNumbersBeyondInt64AreHashed) {
  ColumnLook ids = column("user_id", ValueKind::kText, 400);
  ids.is_delimited_text = true;
  ids.long_integer = "14427431683600209446";
  EXPECT_EQ(transforms_of(draft(ids)), "hash { };");
  EXPECT_EQ(draft(ids).note,
            "whole numbers beyond int64, such as 14427431683600209446, hashed as text");
  ids.missing_texts = {{"NA", 3}};
  EXPECT_THAT(transforms_of(draft(ids)), AllOf(HasSubstr("text: \"NA\""), HasSubstr(";hash { };")));
}

TEST(FeatureDraft, TimesAreCutIntoPeriods) {
  const FeatureDraft time =
      draft(numbers("timestamp", ValueKind::kNumber, 900, quantiles(8.7e8, 8.8e8, 8.9e8)));
  EXPECT_EQ(time.feature.kind(), FeatureConfig::SPARSE);
  const BucketizeTransform& periods = time.feature.transform(0).bucketize();
  ASSERT_EQ(periods.boundary_size(), 15);
  for (int i = 1; i < 15; ++i) EXPECT_LT(periods.boundary(i - 1), periods.boundary(i));
  // Ids repeat, and some are closer to each other than doubles can represent.
  ColumnLook sku = numbers("sku", ValueKind::kInteger, 40, quantiles(7e9, 7e9 + 20, 7e9 + 39));
  EXPECT_EQ(transforms_of(draft(sku)), "") << "ids or categories";
  ColumnLook large =
      numbers("account", ValueKind::kInteger, 800, quantiles(0x1p60, 0x1p60, 0x1p60));
  EXPECT_EQ(transforms_of(draft(large)), "");
  ColumnLook typed = numbers("seen", ValueKind::kInteger, 900, quantiles(0, 5, 10));
  typed.type_name = "timestamp[ms]";
  EXPECT_TRUE(draft(typed).feature.transform(0).has_bucketize());
}

TEST(FeatureDraft, DatesAreNoNumbers) {
  // Most values are near the minimum, as with counts.
  ColumnLook day =
      numbers("shown", ValueKind::kInteger, 60, quantiles(20240101, 20240105, 20240229));
  EXPECT_EQ(draft(day).feature.kind(), FeatureConfig::DENSE);
  day.holds_dates = true;
  EXPECT_TRUE(draft(day).feature.transform(0).has_bucketize());
  day.name = "date_id";
  EXPECT_TRUE(draft(day).feature.transform(0).has_bucketize());
  day.kind = ValueKind::kNumber;
  day.is_whole = true;
  day.distinct = 5;
  EXPECT_EQ(transforms_of(draft(day)), "cast { };");
  EXPECT_EQ(draft(day).note, "dates, as categories");
  ColumnLook text = column("when", ValueKind::kText, 60);
  text.holds_dates = true;
  EXPECT_FALSE(draft(text).is_used);
  EXPECT_THAT(draft(text).note, HasSubstr("later ones do not occur in training"));
}

TEST(FeatureDraft, ListsInCellsAreSplitOrNamed) {
  DataLook data;
  data.train.columns = {column("history", ValueKind::kText, 1000),
                        column("city", ValueKind::kText, 40)};
  data.train.columns[0].list_cell = "470|1";
  data.train.columns[0].list_delimiter = '|';
  EXPECT_EQ(draft_features(data)[0].note, "ids, hashed as text, in lists in cells such as 470|1");
  EXPECT_EQ(transforms_of(draft_features(data)[0]), "hash { };") << "though each row has its own";
  data.train.columns[1].delimiters = "|";
  EXPECT_THAT(draft_features(data)[0].note, HasSubstr("csv { list_delimiter: \"|\" }"));
}

TEST(FeatureDraft, LeavesOutWhatCannotBeLearnt) {
  const auto reason = [](const ColumnLook& look) {
    const FeatureDraft left = draft(look);
    EXPECT_FALSE(left.is_used) << look.name;
    return left.note;
  };
  ColumnLook nested = column("s", ValueKind::kUnreadable, 0);
  nested.type_name = "struct<a: int64>";
  EXPECT_THAT(reason(nested), HasSubstr("nested or of a type that is not read: struct"));
  ColumnLook empty = column("e", ValueKind::kText, 0);
  empty.values = 0;
  empty.missing_rows = empty.rows;
  EXPECT_THAT(reason(empty), HasSubstr("all null"));
  EXPECT_THAT(reason(column("k", ValueKind::kText, 1)), HasSubstr("constant"));
  EXPECT_THAT(reason(column("u", ValueKind::kText, 1000)), HasSubstr("unique per row"));
  ColumnLook nearly = column("u", ValueKind::kText, 999);
  EXPECT_THAT(reason(nearly), HasSubstr("unique per row"));
  nearly.estimated_distinct = 5e5;
  EXPECT_TRUE(draft(nearly).is_used) << "values repeat more often among all rows";
  EXPECT_THAT(reason(column("c{1..3}", ValueKind::kText, 10)), HasSubstr("{"));
  ColumnLook list = numbers("l", ValueKind::kNumber, 900, quantiles(0, 1, 2));
  list.max_length = 4;
  EXPECT_THAT(reason(list), HasSubstr("lists of up to 4 numbers"));
  ColumnLook infinite = numbers("f", ValueKind::kNumber, 900, quantiles(0, 1, 2));
  infinite.not_finite = 10;
  EXPECT_THAT(reason(infinite), HasSubstr("1 % of its values are infinite"));
  ColumnLook copy = column("copy", ValueKind::kInteger, 2);
  copy.equals_label = true;
  EXPECT_THAT(reason(copy), HasSubstr("equals the label"));
  copy.equals_label = false;
  copy.label_tie = "where it is above 0, the label is 1 in all 300 rows";
  copy.is_second_label = true;
  EXPECT_THAT(reason(copy), AllOf(HasSubstr("gives the label away: where it is above 0"),
                                  HasSubstr("kind: LABEL")));
  ColumnLook rare = column("k", ValueKind::kText, 1);
  rare.missing_rows = 900;
  EXPECT_TRUE(draft(rare).is_used) << "present or missing";
}

TEST(FeatureDraft, GroupsAreFoundByName) {
  DataLook data;
  data.train.columns = {
      column("session_id", ValueKind::kText, 100), column("query_id", ValueKind::kInteger, 100),
      column("request_id", ValueKind::kInteger, 900), column("user_id", ValueKind::kInteger, 100)};
  data.train.columns[0].missing_rows = 1;
  const std::vector<FeatureDraft> drafts = draft_features(data);
  EXPECT_EQ(drafts[0].feature.kind(), FeatureConfig::GROUP_ID);
  EXPECT_TRUE(drafts[0].feature.transform(0).has_hash());
  EXPECT_TRUE(drafts[0].feature.has_default_id());
  EXPECT_THAT(drafts[1].note, HasSubstr("second column that looks like groups"));
  EXPECT_EQ(drafts[2].feature.kind(), FeatureConfig::SPARSE) << "hardly two rows of a group";
  EXPECT_EQ(drafts[3].feature.kind(), FeatureConfig::SPARSE);
}

TEST(FeatureDraft, TheLabelIsNoFeature) {
  DataLook data;
  data.train.columns = {column("rating", ValueKind::kInteger, 5)};
  data.label = LabelRule{.column = "rating", .at_least = 4};
  EXPECT_TRUE(draft_features(data).empty());
}

TEST(FeatureDraft, ListsOfLibsvmHaveWeights) {
  DataLook data;
  data.train.format = "libsvm";
  ColumnLook ids = column("index_3", ValueKind::kInteger, 100);
  ColumnLook weights = numbers("value_3", ValueKind::kNumber, 100, quantiles(0, 1, 2));
  ids.max_length = weights.max_length = 5;
  data.train.columns = {ids, weights};
  const std::vector<FeatureDraft> drafts = draft_features(data);
  EXPECT_EQ(drafts[0].feature.weight_column(), "value_3");
  EXPECT_FALSE(drafts[1].is_used);
  EXPECT_THAT(drafts[1].note, HasSubstr("the weights of index_3"));
}

}  // namespace
}  // namespace millrace
