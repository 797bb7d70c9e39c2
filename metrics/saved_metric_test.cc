#include "metrics/saved_metric.h"

#include "base/status_matchers.h"

namespace millrace {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

TEST(SavedMetricTest, SumsAreAdded) {
  const std::string bytes = save_sums("spread", {0.5, -3});
  double a = 1, b = 2;
  ASSERT_OK(merge_saved_sums("spread", bytes, {&a, &b}));
  EXPECT_EQ(a, 1.5);
  EXPECT_EQ(b, -1);
}

TEST(SavedMetricTest, OfAnotherMetric) {
  double sum = 7;
  EXPECT_THAT(merge_saved_sums("auc", save_sums("mean", {1}), {&sum}),
              StatusIs(absl::StatusCode::kDataLoss,
                       AllOf(HasSubstr("the saved metric auc"), HasSubstr("\"mean\""))));
  EXPECT_EQ(sum, 7);
}

TEST(SavedMetricTest, OfAnotherVersion) {
  std::string bytes = save_sums("mean", {1});
  bytes[0] = 9;
  double sum = 7;
  EXPECT_THAT(merge_saved_sums("mean", bytes, {&sum}),
              StatusIs(absl::StatusCode::kDataLoss, HasSubstr("version 9")));
}

TEST(SavedMetricTest, TooFewOrTooManyBytesChangeNothing) {
  const std::string bytes = save_sums("mean", {1, 2});
  double a = 7, b = 8;
  for (size_t size = 0; size < bytes.size(); ++size) {
    EXPECT_THAT(merge_saved_sums("mean", bytes.substr(0, size), {&a, &b}),
                StatusIs(absl::StatusCode::kDataLoss))
        << size;
  }
  EXPECT_THAT(merge_saved_sums("mean", bytes + "x", {&a, &b}),
              StatusIs(absl::StatusCode::kDataLoss));
  EXPECT_EQ(a, 7);
  EXPECT_EQ(b, 8);
}

TEST(SavedMetricTest, OptionsMustBeTheSame) {
  EXPECT_OK(check_saved_option("recall", "threshold", 0.3f, 0.3f));
  EXPECT_THAT(check_saved_option("recall", "threshold", 0.25, 0.5),
              StatusIs(absl::StatusCode::kDataLoss,
                       HasSubstr("the saved metric recall has threshold 0.25; the metric that "
                                 "reads it has 0.5")));
}

TEST(SavedMetricTest, NamesFromBytesAreShownSafely) {
  ByteWriter writer = begin_saved_metric(std::string(1000, '\n'));
  EXPECT_THAT(open_saved_metric("mean", writer.bytes()),
              StatusIs(absl::StatusCode::kDataLoss,
                       AllOf(HasSubstr("\\n"), ::testing::Not(HasSubstr("\n")))));
}

}  // namespace
}  // namespace millrace
