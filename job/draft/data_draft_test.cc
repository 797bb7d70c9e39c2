#include "job/draft/data_draft.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

namespace millrace {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

// Returns a look at files of these numbers of rows.
DataLook look_of(const std::vector<std::pair<std::string, int64_t>>& files) {
  DataLook look;
  for (const auto& [path, rows] : files) {
    look.train.config.add_path(path);
    look.train.files.push_back({.path = path, .rows = rows, .sampled_rows = rows});
    look.train.rows += rows;
  }
  look.train.sampled_rows = look.train.rows;
  return look;
}

TEST(DataDraft, ATenthOfOneFileIsHeldOut) {
  const DataDraft draft = draft_data(look_of({{"a.csv", 1000}}));
  EXPECT_EQ(draft.train.split().to(), 0.9);
  EXPECT_EQ(draft.eval->split().from(), 0.9);
  EXPECT_THAT(draft.eval->path(), ElementsAre("a.csv"));
  EXPECT_DOUBLE_EQ(draft.train_rows, 900);
  EXPECT_THAT(draft.comment, HasSubstr("A tenth of the rows"));
}

TEST(DataDraft, TheLastFileIsHeldOutIfItIsSmall) {
  const DataDraft draft = draft_data(look_of({{"a.csv", 900}, {"b.csv", 600}, {"c.csv", 400}}));
  EXPECT_THAT(draft.train.path(), ElementsAre("a.csv", "b.csv"));
  EXPECT_THAT(draft.eval->path(), ElementsAre("c.csv"));
  EXPECT_FALSE(draft.train.has_split());
  EXPECT_DOUBLE_EQ(draft.train_rows, 1500);
  EXPECT_TRUE(draft_data(look_of({{"a.csv", 900}, {"b.csv", 600}})).train.has_split());
}

// Such as three days of equal size, of which a random tenth would not show the next day.
TEST(DataDraft, TheLastPartitionByTimeMayHaveHalfOfTheRows) {
  const auto days = [](std::vector<std::pair<std::string, int64_t>> files) {
    DataLook look = look_of(files);
    look.train.columns = {{.name = "day", .is_partition = true}};
    return draft_data(look);
  };
  const DataDraft draft = days({{"day=1/a.csv", 300}, {"day=2/a.csv", 300}, {"day=2/b.csv", 300}});
  EXPECT_TRUE(draft.train.has_split());
  EXPECT_THAT(draft.comment, HasSubstr("The last partition by time, day=2, has more than half"));
  const DataDraft last = days({{"day=1/a.csv", 500}, {"day=2/a.csv", 300}, {"day=2/b.csv", 200}});
  EXPECT_THAT(last.train.path(), ElementsAre("day=1/a.csv"));
  EXPECT_THAT(last.eval->path(), ElementsAre("day=2/a.csv", "day=2/b.csv"));
  EXPECT_THAT(days({{"day=1/a.csv", 500}}).comment, HasSubstr("day=1, is the only one"));
}

TEST(DataDraft, ListsInCellsAreSplitUnlessOtherCellsHaveTheirDelimiter) {
  DataLook look = look_of({{"a.csv", 1000}});
  look.train.columns = {{.name = "history"}, {.name = "city"}};
  look.train.columns[0].list_cell = "470|1";
  look.train.columns[0].list_delimiter = '|';
  look.train.columns[1].delimiters = " ";
  const DataDraft draft = draft_data(look);
  EXPECT_EQ(draft.train.csv().list_delimiter(), "|");
  EXPECT_EQ(draft.eval->csv().list_delimiter(), "|");
  EXPECT_EQ(draft.eval->split().from(), 0.9);
  EXPECT_FALSE(draft.eval->split().has_to());
  look.train.columns[1].delimiters = " |";
  EXPECT_FALSE(draft_data(look).train.has_csv());
}

TEST(DataDraft, NamesRowsOfTheEvaluationThatAreTrainedOn) {
  DataLook look = look_of({{"a.csv", 1000}});
  look.eval = look_of({{"b.csv", 200}}).train;
  DataDraft draft = draft_data(look);
  EXPECT_THAT(draft.eval->path(), ElementsAre("b.csv"));
  EXPECT_EQ(draft.comment, "Evaluated on the files of --eval.");
  look.leaked_rows = 50;
  EXPECT_THAT(draft_data(look).comment, HasSubstr("--eval. 25 % of the 200 evaluation rows"));
  look.train.sampled_rows = 500;
  EXPECT_THAT(draft_data(look).comment, HasSubstr("At least 25 %"));
}

// A tenth by hash may be empty, and a job cannot run with an empty set.
TEST(DataDraft, NothingIsHeldOutOfFewRows) {
  const DataDraft draft = draft_data(look_of({{"a.csv", 99}}));
  EXPECT_FALSE(draft.eval.has_value());
  EXPECT_FALSE(draft.train.has_split());
  EXPECT_DOUBLE_EQ(draft.train_rows, 99);
  EXPECT_THAT(draft.comment, AllOf(HasSubstr("99 rows are too few"), HasSubstr("--eval")));
  EXPECT_TRUE(draft_data(look_of({{"a.csv", 100}})).eval.has_value());
  EXPECT_TRUE(draft_data(look_of({{"a.csv", 50}, {"b.csv", 5}})).eval.has_value()) << "a file";
}

TEST(DataDraft, NamesColumnsWithBlanks) {
  DataLook look = look_of({{"a.csv", 1000}});
  look.train.columns.resize(8);
  look.train.columns[0].name = "click";
  EXPECT_EQ(draft_data(look).blanks, "");
  for (ColumnLook& column : look.train.columns) column.has_blanks = true;
  look.train.columns[0].name = " click";
  EXPECT_THAT(draft_data(look).blanks, AllOf(HasSubstr("names of columns: click, "),
                                             HasSubstr("and 3 more"), HasSubstr("Remove them")));
}

TEST(DataDraft, ACommentIsOneLine) { EXPECT_EQ(comment_text("a\r\nb"), "a  b"); }

}  // namespace
}  // namespace millrace
