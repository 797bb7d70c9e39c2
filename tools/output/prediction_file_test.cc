#include "tools/output/prediction_file.h"

#include <ATen/ATen.h>

#include <cmath>
#include <limits>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/status_matchers.h"
#include "tests/io_testing/data_files.h"

namespace millrace {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

// Stores the written bytes.
class MemoryFile : public WritableFile {
 public:
  absl::Status append(absl::string_view bytes) override {
    content.append(bytes.data(), bytes.size());
    return absl::OkStatus();
  }
  absl::Status sync() override { return absl::OkStatus(); }
  absl::Status close() override { return absl::OkStatus(); }
  std::string content;
};

class PredictionFileTest : public testing::Test {
 protected:
  // Writes one batch.
  absl::Status batch(PredictionFile& file, std::vector<int64_t> ids, const at::Tensor& predictions,
                     const at::Tensor& labels, const at::Tensor& group_ids = {},
                     const std::vector<Column>& kept = {}) {
    Batch batch;
    if (!kept.empty()) batch.kept = std::make_shared<std::vector<Column>>(kept);
    batch.size = static_cast<int64_t>(ids.size());
    batch.example_ids = at::tensor(ids, at::kLong);
    batch.group_ids = group_ids;
    StepResult result;
    result.applied = true;
    result.examples = batch.size;
    result.predictions = predictions;
    result.labels = labels;
    return file.append(batch, result);
  }

  MemoryFile file_;
};

TEST_F(PredictionFileTest, RowsInOrderWithLabels) {
  PredictionFile predictions(file_, PredictionFormat::kCsv, {"click", "buy"}, /*with_set=*/true);
  predictions.begin_set("a");
  ASSERT_OK(batch(predictions, {5, 3}, at::tensor({0.5, 0.25, 0.75, 1.0}, at::kDouble).view({2, 2}),
                  at::tensor({1.0f, 0.0f, 0.0f, 1.0f}).view({2, 2})));
  predictions.begin_set("b");
  ASSERT_OK(batch(predictions, {9}, at::zeros({1, 2}), at::ones({1, 2})));
  ASSERT_OK(predictions.finish());
  EXPECT_EQ(predictions.examples(), 3);
  EXPECT_EQ(file_.content,
            "set,example_id,click_prediction,buy_prediction,click,buy\n"
            "a,5,0.5,0.25,1,0\n"
            "a,3,0.75,1,0,1\n"
            "b,9,0,0,1,1\n");
}

TEST_F(PredictionFileTest, MissingLabelsAreNotWrittenAndGroupsAre) {
  PredictionFile predictions(file_, PredictionFormat::kCsv, {"click", "buy"}, /*with_set=*/false);
  ASSERT_OK(batch(predictions, {1, 2}, at::zeros({2, 2}),
                  at::tensor({kNan, 0.0f, kNan, 1.0f}).view({2, 2}),
                  at::tensor({8, 9}, at::kLong)));
  ASSERT_OK(predictions.finish());
  EXPECT_EQ(file_.content,
            "example_id,group_id,click_prediction,buy_prediction,buy\n1,8,0,0,0\n2,9,0,0,1\n");
}

TEST_F(PredictionFileTest, LabelsThatExamplesMayLackAreNullThere) {
  PredictionFile predictions(file_, PredictionFormat::kCsv, {"click", "buy"}, /*with_set=*/false,
                             /*masked=*/{false, true});
  ASSERT_OK(batch(predictions, {1, 2}, at::zeros({2, 2}),
                  at::tensor({1.0f, kNan, 0.0f, 1.0f}).view({2, 2})));
  ASSERT_OK(batch(predictions, {3}, at::zeros({1, 2}), at::tensor({0.0f, kNan}).view({1, 2})));
  ASSERT_OK(predictions.finish());
  EXPECT_EQ(file_.content,
            "example_id,click_prediction,buy_prediction,click,buy\n"
            "1,0,0,1,\n2,0,0,0,1\n3,0,0,0,\n");
}

// The first example of a batch does not matter.
TEST_F(PredictionFileTest, LabelsThatTheDataHasAreWrittenWithNulls) {
  PredictionFile predictions(file_, PredictionFormat::kCsv, {"click", "buy"}, /*with_set=*/false);
  predictions.begin_set("a", {true, false});
  ASSERT_OK(batch(predictions, {1, 2}, at::zeros({2, 2}),
                  at::tensor({kNan, kNan, 0.0f, kNan}).view({2, 2})));
  ASSERT_OK(batch(predictions, {3}, at::zeros({1, 2}), at::tensor({kNan, kNan}).view({1, 2})));
  ASSERT_OK(predictions.finish());
  EXPECT_EQ(file_.content,
            "example_id,click_prediction,buy_prediction,click\n1,0,0,\n2,0,0,0\n3,0,0,\n");
}

TEST_F(PredictionFileTest, AFileWithoutExamplesHasTheColumnsOfOtherRanks) {
  MemoryFile other;
  PredictionFile with(other, PredictionFormat::kCsv, {"click", "buy"}, /*with_set=*/false);
  PredictionFile without(file_, PredictionFormat::kCsv, {"click", "buy"}, /*with_set=*/false);
  ASSERT_OK(batch(with, {1}, at::zeros({1, 2}), at::tensor({kNan, 0.0f}).view({1, 2}),
                  at::tensor({8}, at::kLong)));
  EXPECT_EQ(without.columns(), "");
  ASSERT_OK(without.finish(with.columns()));
  EXPECT_EQ(file_.content, "example_id,group_id,click_prediction,buy_prediction,buy\n");
  ASSERT_OK(with.finish(with.columns()));
}

TEST_F(PredictionFileTest, FilesOfRanksWithDifferentLabelsAreRefused) {
  PredictionFile predictions(file_, PredictionFormat::kCsv, {"click"}, /*with_set=*/false);
  ASSERT_OK(batch(predictions, {1}, at::zeros({1, 1}), at::zeros({1, 1})));
  EXPECT_THAT(predictions.finish("--"), StatusIs(absl::StatusCode::kInvalidArgument,
                                                 HasSubstr("without such a column apart")));
  EXPECT_OK(predictions.finish("-l"));
}

TEST_F(PredictionFileTest, SetsWithDifferentLabels) {
  PredictionFile predictions(file_, PredictionFormat::kCsv, {"click"}, /*with_set=*/true);
  predictions.begin_set("labelled");
  ASSERT_OK(batch(predictions, {1}, at::zeros({1, 1}), at::zeros({1, 1})));
  predictions.begin_set("bare");
  EXPECT_THAT(batch(predictions, {1}, at::zeros({1, 1}), at::full({1, 1}, kNan)),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       AllOf(HasSubstr("\"bare\" lacks the label \"click\""))));
}

Column text_column(const std::vector<std::string>& texts) {
  Column column;
  column.type = ValueType::kString;
  column.rows = static_cast<int64_t>(texts.size());
  for (const std::string& text : texts) column.strings.push_back(text);
  return column;
}

Column integer_column(std::vector<int64_t> values) {
  Column column;
  column.rows = static_cast<int64_t>(values.size());
  column.int64s = std::move(values);
  return column;
}

TEST_F(PredictionFileTest, KeptColumnsOfSeveralSets) {
  PredictionFile predictions(file_, PredictionFormat::kCsv, {"click"}, /*with_set=*/true, {},
                             {"key", "day"});
  predictions.begin_set("a");
  ASSERT_OK(batch(predictions, {1, 2}, at::zeros({2, 1}), at::ones({2, 1}), {},
                  {text_column({"x", "y,z"}), integer_column({3, 4})}));
  predictions.begin_set("b");
  ASSERT_OK(batch(predictions, {9}, at::zeros({1, 1}), at::ones({1, 1}), {},
                  {text_column({"w"}), integer_column({5})}));
  EXPECT_THAT(batch(predictions, {1}, at::zeros({1, 1}), at::ones({1, 1}), {},
                    {text_column({"v"}), text_column({"Monday"})}),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("column \"day\" holds text in set \"b\", but integers in a set "
                                 "before it; predict them apart")));
  ASSERT_OK(predictions.finish());
  EXPECT_EQ(file_.content,
            "set,example_id,click_prediction,click,key,day\n"
            "a,1,0,1,x,3\na,2,0,1,\"y,z\",4\nb,9,0,1,w,5\n");
}

TEST_F(PredictionFileTest, AFileWithoutExamplesHasTheKeptColumnsOfOtherRanks) {
  MemoryFile other;
  const std::vector<std::string> kept = {"key", "day"};
  PredictionFile with(other, PredictionFormat::kCsv, {"click"}, /*with_set=*/false, {}, kept);
  PredictionFile without(file_, PredictionFormat::kCsv, {"click"}, /*with_set=*/false, {}, kept);
  ASSERT_OK(batch(with, {1}, at::zeros({1, 1}), at::ones({1, 1}), {},
                  {text_column({"x"}), integer_column({3})}));
  ASSERT_OK(without.finish(with.columns()));
  EXPECT_EQ(file_.content, "example_id,click_prediction,click,key,day\n");
  std::string other_types = with.columns();
  std::swap(other_types[other_types.size() - 2], other_types[other_types.size() - 1]);
  EXPECT_THAT(with.finish(other_types),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("types of kept columns")));
  ASSERT_OK(with.finish(with.columns()));
}

TEST_F(PredictionFileTest, DatasetsThatKeepNothing) {
  PredictionFile predictions(file_, PredictionFormat::kCsv, {"click"}, /*with_set=*/false, {},
                             {"key"});
  predictions.begin_set("own");
  const auto refused = StatusIs(absl::StatusCode::kInvalidArgument,
                                HasSubstr("dataset of set \"own\" does not give columns"));
  EXPECT_THAT(batch(predictions, {1}, at::zeros({1, 1}), at::ones({1, 1})), refused);
  EXPECT_THAT(
      batch(predictions, {1}, at::zeros({1, 1}), at::ones({1, 1}), {}, {text_column({"a", "b"})}),
      refused);
}

}  // namespace
}  // namespace millrace
