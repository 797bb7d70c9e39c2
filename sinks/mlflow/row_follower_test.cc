#include "sinks/mlflow/row_follower.h"

#include <optional>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/memory_file_system_testing.h"
#include "base/status_matchers.h"

namespace millrace {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr char kTrain[] = "out/train.jsonl", kEval[] = "out/eval.jsonl";

std::string train_row(int64_t step) {
  return absl::StrCat("{\"step\":", step, ",\"metrics\":{\"loss\":1}}\n");
}
std::string eval_row(int64_t step, const char* set) {
  return absl::StrCat("{\"step\":", step, ",\"set\":\"", set, "\"}\n");
}

class RowFollowerTest : public testing::Test {
 protected:
  // Reads batch by batch, at most `most_numbers` each, and returns set and step of the rows.
  static std::vector<std::string> take(RowFollower& follower, size_t most_numbers = 1000) {
    std::vector<std::string> rows;
    for (;;) {
      const auto batch = follower.peek(most_numbers);
      EXPECT_OK(batch.status());
      if (!batch.ok() || batch->rows.empty()) return rows;
      EXPECT_LE(batch->rows.size(), most_numbers);
      for (const ReportRow& row : batch->rows) rows.push_back(absl::StrCat(row.set, row.step));
      follower.advance(*batch);
    }
  }
  MemoryFileSystem files_;
};

TEST_F(RowFollowerTest, RowsAsTheyCome) {
  RowFollower follower(files_, "out", std::nullopt, {});
  EXPECT_THAT(take(follower), IsEmpty());
  files_.put(kEval, eval_row(1, "a"));
  std::string text = train_row(1) + "damaged\n" + train_row(2);
  files_.put(kTrain, text + "{\"step\":3");
  ASSERT_OK_AND_ASSIGN(const auto first, follower.peek(1));
  EXPECT_EQ(first.rows.size(), 1);
  EXPECT_THAT(take(follower, 1), ElementsAre("train1", "train2", "a1"));
  files_.put(kTrain, text + train_row(3));
  EXPECT_THAT(take(follower), ElementsAre("train3"));
  follower.restart();
  EXPECT_THAT(take(follower), ElementsAre("train1", "train2", "train3", "a1"));
}

TEST_F(RowFollowerTest, TheNextRunReadsTheRowsBehindTheLastOne) {
  const std::string rows = eval_row(1, "a") + eval_row(1, "b");
  files_.put(kTrain, train_row(1));
  files_.put(kEval, rows);
  RowFollower first(files_, "out", std::nullopt, {});
  EXPECT_THAT(take(first), ElementsAre("train1", "a1", "b1"));
  files_.put(kEval, rows + eval_row(1, "a"));
  for (const auto& start :
       {std::optional<SinkStart>(), std::optional(SinkStart{.first_step = 1})}) {
    RowFollower next(files_, "out", start, first.sent());
    EXPECT_THAT(take(next), ElementsAre("a1")) << "a second evaluation of the step";
  }
  files_.put(kEval, eval_row(1, "b") + eval_row(1, "a"));
  RowFollower other(files_, "out", std::nullopt, first.sent());
  EXPECT_THAT(take(other), ElementsAre("b1", "a1")) << "another file of equal length";
}

TEST_F(RowFollowerTest, RowsThatTheRunReplaces) {
  files_.put(kTrain, train_row(10) + train_row(20) + train_row(30));
  files_.put(kEval, eval_row(20, "a") + eval_row(20, "b"));
  RowFollower earlier(files_, "out", std::nullopt, {});
  const SinkStart start{.first_step = 20, .written = {{"a"}}};
  {
    RowFollower follower(files_, "out", start, earlier.sent());
    EXPECT_THAT(take(follower), ElementsAre("train10", "a20"));
    follower.restart();
    EXPECT_THAT(take(follower), ElementsAre("train10", "a20"));
  }
  take(earlier);
  RowFollower follower(files_, "out", start, earlier.sent());
  RowFollower late(files_, "out", start, earlier.sent());
  EXPECT_THAT(take(follower), IsEmpty()) << "the others were sent";
  // Replaces the file, as a resumed run does. The first new row has the place of an old one.
  files_.put("out/new", train_row(10) + train_row(25) + train_row(30));
  EXPECT_OK(files_.rename("out/new", kTrain));
  EXPECT_THAT(take(follower), ElementsAre("train25", "train30"));
  EXPECT_THAT(take(late), ElementsAre("train25", "train30")) << "first reads the new file";
}

TEST_F(RowFollowerTest, AFileThatBeginsAgain) {
  RowFollower follower(files_, "out", std::nullopt, {});
  files_.put(kTrain, train_row(10) + train_row(20));
  EXPECT_THAT(take(follower).size(), testing::Eq(2));
  files_.put(kTrain, train_row(30));
  EXPECT_THAT(take(follower), ElementsAre("train30")) << "a shorter file";
  EXPECT_OK(remove_recursively(files_, "out"));
  EXPECT_THAT(take(follower), IsEmpty());
  files_.put(kTrain, train_row(40));
  EXPECT_THAT(take(follower), ElementsAre("train40")) << "a file of equal length";
  files_.put(kTrain, train_row(500000) + train_row(600000));
  EXPECT_THAT(take(follower), ElementsAre("train500000", "train600000")) << "a longer file";
}

}  // namespace
}  // namespace millrace
