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

TEST_F(RowFollowerTest, RowsThatWereSent) {
  files_.put(kTrain, train_row(1) + train_row(2));
  files_.put(kEval, eval_row(1, "a") + eval_row(1, "b") + eval_row(2, "a") + eval_row(2, "b"));
  RowFollower follower(files_, "out", std::nullopt, {{"train", 1}, {"a", 2}});
  EXPECT_THAT(take(follower), ElementsAre("train2", "b1", "b2"));
}

TEST_F(RowFollowerTest, RowsThatTheRunReplaces) {
  files_.put(kTrain, train_row(10) + train_row(20) + train_row(30));
  files_.put(kEval, eval_row(20, "a") + eval_row(20, "b"));
  RowFollower follower(files_, "out", SinkStart{.first_step = 20, .written = {{"a"}}}, {});
  EXPECT_THAT(take(follower), ElementsAre("train10", "a20"));
  files_.put(kTrain, train_row(10) + train_row(25));
  follower.note_written(/*train=*/true);
  EXPECT_THAT(take(follower), ElementsAre("train25"));
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
