#include "job/draft/config_draft.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "absl/strings/str_cat.h"
#include "base/file_system.h"
#include "base/status_matchers.h"
#include "proto/config_reader.h"
#include "proto/model_configs.pb.h"
#include "tests/io_testing/data_files.h"

namespace millrace {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

class ConfigDraftTest : public testing::Test {
 protected:
  std::string write(const std::string& name, const std::string& content) const {
    std::ofstream(join_path(directory_, name)) << content;
    return join_path(directory_, name);
  }

  // Returns text of `rows` rows: a label, a count, ids and text.
  std::string clicks(const std::string& name, int rows) const {
    std::string text = "label,views,item_id,city\n";
    for (int i = 0; i < rows; ++i) {
      absl::StrAppend(&text, i % 3 == 0, ",", i % 40 == 0 ? 5000 + i : i % 2 * (i % 50), ",",
                      i % 30, ",city", i % 5, "\n");
    }
    return write(name, text);
  }

  absl::StatusOr<std::string> draft(const LookOptions& options) const {
    const absl::StatusOr<DataLook> look = look_at_data(FileSystem::local(), options);
    if (!look.ok()) return look.status();
    return draft_config(*look, "out/job");
  }

  JobConfig parse(const std::string& text) const {
    JobConfig config;
    EXPECT_OK(parse_text(text, "draft", &config)) << text;
    return config;
  }

  const std::string directory_ = fresh_test_dir();
};

TEST_F(ConfigDraftTest, OneFileIsSplitByHash) {
  ASSERT_OK_AND_ASSIGN(const std::string text, draft({.paths = {clicks("a.csv", 1000)}}));
  const JobConfig config = parse(text);
  const TrainConfig& train = config.train();
  EXPECT_EQ(train.train_data().split().to(), 0.9);
  EXPECT_EQ(train.eval_data(0).data().split().from(), 0.9);
  EXPECT_EQ(train.eval_data(0).data().path(0), train.train_data().path(0));
  EXPECT_GT(train.train_data().shuffle_rows(), 0);
  EXPECT_EQ(train.feature(0).kind(), FeatureConfig::LABEL);
  EXPECT_EQ(train.model().name(), "deepfm");
  EXPECT_TRUE(train.optimizer().has_adam());
  EXPECT_EQ(train.table_size(), 0);
  EXPECT_EQ(train.default_table().dim(), 8);
  EXPECT_GT(train.max_epochs(), 1);
  EXPECT_EQ(config.run().evaluation().best().term(0).monitor(), "eval/auc");
  EXPECT_THAT(text, HasSubstr("drawn by a hash, is held out"));
  EXPECT_THAT(text, HasSubstr("33.4 % of the rows are positive"));
}

TEST_F(ConfigDraftTest, FewRowsAreNotEvaluated) {
  ASSERT_OK_AND_ASSIGN(const std::string text, draft({.paths = {clicks("a.csv", 10)}}));
  const JobConfig config = parse(text);
  EXPECT_FALSE(config.train().train_data().has_split());
  EXPECT_EQ(config.train().eval_data_size(), 0);
  EXPECT_FALSE(config.run().has_evaluation());
  EXPECT_THAT(text, AllOf(HasSubstr("# Not evaluated: 10 rows are too few"),
                          Not(HasSubstr("OUTPUT_DIR/best"))));
}

TEST_F(ConfigDraftTest, TheLastOfManyFilesIsHeldOut) {
  const std::string a = clicks("a.csv", 900), b = clicks("b.csv", 600), c = clicks("c.csv", 400);
  ASSERT_OK_AND_ASSIGN(const std::string text, draft({.paths = {join_path(directory_, "*.csv")}}));
  const TrainConfig train = parse(text).train();
  EXPECT_THAT(train.train_data().path(), ElementsAre(a, b));
  EXPECT_THAT(train.eval_data(0).data().path(), ElementsAre(c));
  EXPECT_FALSE(train.train_data().has_split());
  EXPECT_THAT(text, HasSubstr("The last file is held out"));
  ASSERT_OK_AND_ASSIGN(const std::string two, draft({.paths = {a, b}}));
  EXPECT_TRUE(parse(two).train().train_data().has_split()) << "the last has more than a quarter";
}

TEST_F(ConfigDraftTest, AllFilesOfTheLastDayAreHeldOut) {
  std::vector<std::string> paths;
  for (const char* directory : {"day=1", "day=2", "day=3", "day=4"}) {
    for (const char* country : {"country=fr", "country=uk"}) {
      const std::string path = absl::StrCat(directory, "/", country);
      ASSERT_TRUE(std::filesystem::create_directories(join_path(directory_, path)));
      paths.push_back(clicks(absl::StrCat(path, "/a.csv"), 100));
    }
  }
  ASSERT_OK_AND_ASSIGN(const std::string text, draft({.paths = paths}));
  const TrainConfig train = parse(text).train();
  EXPECT_EQ(train.train_data().path_size(), 6);
  ASSERT_EQ(train.eval_data(0).data().path_size(), 2);
  EXPECT_EQ(train.eval_data(0).data().path(1), paths.back());
  EXPECT_THAT(text, HasSubstr("All of day=4 is held out"));
}

// Integers with missing values, as written by pandas.
TEST_F(ConfigDraftTest, IdsOfDelimitedTextMayBeNumbers) {
  std::string text = "label,user_id\n";
  for (int i = 0; i < 400; ++i) absl::StrAppend(&text, i % 2, ",", i % 40, i % 3 ? ".0\n" : "\n");
  ASSERT_OK_AND_ASSIGN(const std::string config, draft({.paths = {write("a.csv", text)}}));
  EXPECT_THAT(config, HasSubstr("feature { name: \"user_id\" transform { cast {} } }"));
}

TEST_F(ConfigDraftTest, EvaluationDataIsTakenAsGiven) {
  const std::string a = clicks("a.csv", 900), b = clicks("b.csv", 600);
  ASSERT_OK_AND_ASSIGN(const std::string text, draft({.paths = {a}, .eval_paths = {b}}));
  const TrainConfig train = parse(text).train();
  EXPECT_THAT(train.eval_data(0).data().path(), ElementsAre(b));
  EXPECT_FALSE(train.train_data().has_split());
  EXPECT_FALSE(train.eval_data(0).data().has_split());
}

TEST_F(ConfigDraftTest, ALabelMayBeAComparison) {
  const std::string path = write("a.csv", "rating,user_id\n5,1\n1,2\n,1\n3,3\n4,2\n");
  ASSERT_OK_AND_ASSIGN(
      const std::string text,
      draft({.paths = {path}, .label = LabelRule{.column = "rating", .at_least = 4}}));
  const FeatureConfig label = parse(text).train().feature(0);
  EXPECT_EQ(label.name(), "label");
  EXPECT_EQ(label.column(), "rating");
  EXPECT_EQ(label.transform(0).threshold().at_least(), 4);
  EXPECT_EQ(label.missing(), FeatureConfig::MASK) << "a row has none";
}

TEST_F(ConfigDraftTest, NotANumberIsNoLabel) {
  const std::string path =
      write("a.csv", "rating:float\tuser_id:token\n5\t1\n1\t2\nnan\t1\n3\t3\n");
  ASSERT_OK_AND_ASSIGN(
      const std::string text,
      draft({.paths = {path}, .label = LabelRule{.column = "rating", .at_least = 4}}));
  EXPECT_EQ(parse(text).train().feature(0).missing(), FeatureConfig::MASK);
  EXPECT_THAT(text, HasSubstr("33.3 %")) << "one of three";
}

TEST_F(ConfigDraftTest, NumbersWithMissingTextsAreNumbers) {
  std::string text = "label,age,item_id\n";
  for (int i = 0; i < 400; ++i) {
    absl::StrAppend(&text, i == 7 ? "NA" : absl::StrCat(i % 2), ",",
                    i % 9 == 0 ? "N/A" : absl::StrCat(0.1 * (i % 37)), ",",
                    i % 11 == 0 ? "null" : absl::StrCat(i % 40), "\n");
  }
  ASSERT_OK_AND_ASSIGN(const std::string config, draft({.paths = {write("a.csv", text)}}));
  const TrainConfig train = parse(config).train();
  ASSERT_EQ(train.feature_size(), 3);
  EXPECT_EQ(train.feature(0).missing(), FeatureConfig::MASK);
  EXPECT_THAT(train.feature(0).transform(0).missing_values().text(), Contains("NA"));
  EXPECT_EQ(train.feature(1).kind(), FeatureConfig::DENSE);
  EXPECT_THAT(train.feature(1).transform(0).missing_values().text(), Contains("N/A"));
  EXPECT_THAT(train.feature(2).transform(0).missing_values().text(), Contains("null"));
  EXPECT_TRUE(train.feature(2).transform(1).has_hash());
}

TEST_F(ConfigDraftTest, BooleansAreLabelsAndCategories) {
  std::string text = "label,is_new,x\n";
  for (int i = 0; i < 400; ++i) {
    absl::StrAppend(&text, i % 2 ? "True" : "False", ",", i % 3 ? "true" : "false", ",", i % 40,
                    "\n");
  }
  ASSERT_OK_AND_ASSIGN(const std::string config, draft({.paths = {write("a.csv", text)}}));
  EXPECT_THAT(config, HasSubstr("50 % of the rows are positive"));
  EXPECT_THAT(config, HasSubstr("feature { name: \"is_new\" transform { hash {} } }"));
  EXPECT_THAT(draft({.paths = {write("b.csv", "label,x\nyes,1\nno,2\n")}}),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       AllOf(HasSubstr("label \"label\": values that are text"),
                             HasSubstr("True and False"))));
}

TEST_F(ConfigDraftTest, TheIndexOfPandasIsLeftOut) {
  std::string text = ",label,x\n";
  for (int i = 0; i < 400; ++i) absl::StrAppend(&text, i, ",", i % 2, ",", i % 40, "\n");
  ASSERT_OK_AND_ASSIGN(const std::string config, draft({.paths = {write("a.csv", text)}}));
  EXPECT_THAT(parse(config).train().train_data().csv().column(), testing::IsEmpty());
  EXPECT_THAT(config, HasSubstr("#   (no name): a column without a name"));
}

TEST_F(ConfigDraftTest, DecimalCommasAreInAComment) {
  std::string text = "label;price\n";
  for (int i = 0; i < 400; ++i) absl::StrAppend(&text, i % 2, ";", i % 40, ",5\n");
  ASSERT_OK_AND_ASSIGN(const std::string config, draft({.paths = {write("a.csv", text)}}));
  EXPECT_THAT(config, HasSubstr("# Numbers with decimal commas, such as 0,5, which are text"));
}

TEST_F(ConfigDraftTest, BlanksBehindCommasLeaveNumbersNumbers) {
  std::string text = " click, user, price\n";
  for (int i = 0; i < 400; ++i) {
    absl::StrAppend(&text, " ", i % 2, ", ", i % 40, ", ",
                    i % 9 ? absl::StrCat(0.1 * (i % 37)) : " ", "\n");
  }
  ASSERT_OK_AND_ASSIGN(const std::string config, draft({.paths = {write("a.csv", text)}}));
  EXPECT_THAT(config, HasSubstr("# Blanks stand around cells or names of columns: click, user,"));
  const TrainConfig train = parse(config).train();
  ASSERT_EQ(train.feature_size(), 3);
  EXPECT_EQ(train.feature(0).name(), "click");
  EXPECT_EQ(train.feature(0).column(), " click");
  EXPECT_EQ(train.feature(1).name(), "price");
  EXPECT_EQ(train.feature(1).kind(), FeatureConfig::DENSE);
  EXPECT_FALSE(train.feature(1).transform(0).has_missing_values()) << "blanks are no number";
  EXPECT_EQ(train.feature(2).name(), "user");
}

TEST_F(ConfigDraftTest, NumberedColumnsAreOneEntry) {
  std::string text = "c10,c2,label,c1,c3\n";
  for (int i = 0; i < 50; ++i) {
    absl::StrAppend(&text, "a", i % 9, ",b", i % 4, ",", i % 2, ",c", i % 5, ",d", i % 7, "\n");
  }
  ASSERT_OK_AND_ASSIGN(const std::string config, draft({.paths = {write("a.csv", text)}}));
  EXPECT_THAT(config, HasSubstr("feature { name: \"c{1..3}\" transform { hash {} } }"));
  EXPECT_THAT(config, HasSubstr("  default_table { dim: 8 }"));
  EXPECT_THAT(config, HasSubstr("feature { name: \"c10\""));
}

TEST_F(ConfigDraftTest, ColumnsWithoutNamesAreARange) {
  std::string text;
  for (int i = 0; i < 200; ++i) absl::StrAppend(&text, i % 2, ",a", i % 5, ",b", i % 7, "\n");
  ASSERT_OK_AND_ASSIGN(const std::string config, draft({.paths = {write("a.csv", text)},
                                                        .label = LabelRule{.column = "column_1"}}));
  EXPECT_THAT(parse(config).train().train_data().csv().column(), ElementsAre("column_{1..3}"));
  EXPECT_THAT(config, HasSubstr("feature { name: \"column_{2..3}\" transform { hash {} } }"));
}

TEST_F(ConfigDraftTest, QuotedCellsOfASpreadsheet) {
  std::string text = "\"label\";\"city, \"\"country\"\"\"\n";
  for (int i = 0; i < 200; ++i) {
    absl::StrAppend(&text, "\"", i % 2, "\";\"", i % 5, ";\na\"\n");
  }
  ASSERT_OK_AND_ASSIGN(const std::string config, draft({.paths = {write("a.csv", text)}}));
  const TrainConfig train = parse(config).train();
  EXPECT_EQ(train.train_data().csv().delimiter(), ";");
  EXPECT_EQ(train.feature(1).name(), "city_country");
  EXPECT_EQ(train.feature(1).column(), "city, \"country\"");
  EXPECT_TRUE(train.feature(1).transform(0).has_hash());
}

TEST_F(ConfigDraftTest, NamesThatTablesCannotHaveBecomeSimilarOnes) {
  std::string text = "label,a b,a_b,a (b),\xc3\xbc\n";
  for (int i = 0; i < 200; ++i) {
    absl::StrAppend(&text, i % 2, ",x", i % 5, ",y", i % 6, ",z", i % 7, ",u", i % 8, "\n");
  }
  ASSERT_OK_AND_ASSIGN(const std::string config, draft({.paths = {write("a.csv", text)}}));
  const TrainConfig train = parse(config).train();
  std::vector<std::string> names, columns;
  for (const FeatureConfig& feature : train.feature()) {
    names.push_back(feature.name());
    columns.push_back(feature.column());
  }
  EXPECT_THAT(names, ElementsAre("label", "a_b_2", "a_b", "a_b_3", "column"));
  EXPECT_THAT(columns, ElementsAre("", "a b", "", "a (b)", "\xc3\xbc"));
}

TEST_F(ConfigDraftTest, SaysWhyColumnsAreLeftOut) {
  std::string text = "label,constant,row,x\n";
  for (int i = 0; i < 200; ++i) absl::StrAppend(&text, i % 2, ",1,", i, ",", i % 5, "\n");
  ASSERT_OK_AND_ASSIGN(const std::string config, draft({.paths = {write("a.csv", text)}}));
  EXPECT_THAT(config, AllOf(HasSubstr("#   constant: constant"), HasSubstr("#   row: unique")));
  EXPECT_THAT(config, Not(HasSubstr("name: \"row\"")));
}

TEST_F(ConfigDraftTest, NumbersAloneTrainANetwork) {
  std::string text = "label,x\n";
  for (int i = 0; i < 200; ++i) absl::StrAppend(&text, i % 2, ",", 0.01 * (i % 31), "\n");
  ASSERT_OK_AND_ASSIGN(const std::string config, draft({.paths = {write("a.csv", text)}}));
  EXPECT_EQ(parse(config).train().model().name(), "mlp");
  EXPECT_FALSE(parse(config).train().has_sparse_optimizer());
  EXPECT_THAT(config, Not(HasSubstr("default_table")));
}

TEST_F(ConfigDraftTest, GroupsGetTheirMetric) {
  std::string text = "label,session_id,x\n";
  for (int i = 0; i < 200; ++i) absl::StrAppend(&text, i % 2, ",", i / 4, ",", i % 5, "\n");
  ASSERT_OK_AND_ASSIGN(const std::string config, draft({.paths = {write("a.csv", text)}}));
  EXPECT_THAT(parse(config).train().metric(), testing::Contains("gauc"));
}

TEST_F(ConfigDraftTest, RefusesDataWithoutAUsableLabel) {
  EXPECT_THAT(draft({.paths = {write("a.csv", "x,seen\n1,0\n2,1\n")}}),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       AllOf(HasSubstr("give --label COLUMN"), HasSubstr("\"seen\""))));
  EXPECT_THAT(draft({.paths = {write("b.csv", "x,label\n1,0\n2,0\n")}}),
              StatusIs(absl::StatusCode::kDataLoss,
                       HasSubstr("all 2 rows of the sample are 0; a model needs both classes")));
  EXPECT_THAT(draft({.paths = {write("c.csv", "x,label\n1,1\n2,5\n")}}),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("from 1 to 5; give --label 'label>=NUMBER'")));
  EXPECT_THAT(draft({.paths = {write("d.csv", "x,label\n1,\n2,\n")},
                     .label = LabelRule{.column = "label"}}),
              Not(IsOk()));
  EXPECT_THAT(draft({.paths = {write("e.csv", "x,label\n1,1\n1,0\n")}}),
              StatusIs(absl::StatusCode::kDataLoss,
                       HasSubstr("no column can be a feature: \"x\" (constant")));
}

}  // namespace
}  // namespace millrace
