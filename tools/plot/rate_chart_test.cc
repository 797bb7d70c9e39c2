#include "tools/plot/rate_chart.h"

#include <gmock/gmock.h>
#include <google/protobuf/text_format.h>
#include <gtest/gtest.h>

#include "base/status_matchers.h"

namespace millrace {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Pair;
using ::testing::SizeIs;

absl::StatusOr<std::vector<Chart>> charts(const char* text, int64_t length = 0) {
  TrainConfig train;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(text, &train));
  return rate_charts(train, length);
}

TEST(RateChartTest, HasALineForEachOptimizer) {
  ASSERT_OK_AND_ASSIGN(const std::vector<Chart> all, charts(R"(
    max_steps: 4
    more_optimizers { pattern: "deep.*" learning_rate: 0.5 }
    optimizer { learning_rate: 1 schedule { linear_warmup { length { share: 0.5 } } } }
    sparse_optimizer { learning_rate: 2 }
    table { name: "items" optimizer { learning_rate: 3 } }
    table { name: "users" })"));
  ASSERT_THAT(all, SizeIs(1));
  EXPECT_EQ(all[0].x_label, "steps");
  ASSERT_THAT(all[0].lines, SizeIs(4));
  EXPECT_EQ(all[0].lines[0].name, "dense");
  EXPECT_EQ(all[0].lines[1].name, "dense1");
  EXPECT_THAT(all[0].lines[1].points,
              ElementsAre(Pair(0, 0), Pair(1, 0.5), Pair(2, 1), Pair(3, 1), Pair(4, 1)));
  EXPECT_EQ(all[0].lines[2].name, "sparse");
  EXPECT_EQ(all[0].lines[3].name, "sparse/items");
  EXPECT_EQ(all[0].lines[3].points.back(), std::pair(4.0, 3.0));
}

TEST(RateChartTest, EachUnitHasItsChart) {
  ASSERT_OK_AND_ASSIGN(const std::vector<Chart> all, charts(R"(
    max_epochs: 6
    optimizer { schedule { unit: EPOCHS step { length { count: 2 } } } }
    sparse_optimizer { schedule { cosine { length { count: 5000 } } } }
    table { name: "items" })"));
  ASSERT_THAT(all, SizeIs(2));
  EXPECT_EQ(all[0].x_label, "steps");
  EXPECT_EQ(all[0].lines[0].points.back().first, 5500) << "a tenth behind the end";
  EXPECT_LE(all[0].lines[0].points.size(), 1200u);
  EXPECT_EQ(all[1].x_label, "epochs");
  EXPECT_EQ(all[1].lines[0].points.back().first, 6);
}

TEST(RateChartTest, FrozenParametersHaveNoRate) {
  ASSERT_OK_AND_ASSIGN(const std::vector<Chart> all, charts(R"(
    max_steps: 4
    more_optimizers { pattern: "deep.*" frozen: true }
    optimizer { learning_rate: 1 })"));
  ASSERT_THAT(all[0].lines, SizeIs(1));
  EXPECT_EQ(all[0].lines[0].name, "dense");
  EXPECT_THAT(charts("optimizer { frozen: true }"),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("frozen")));
}

TEST(RateChartTest, LengthDecides) {
  ASSERT_OK_AND_ASSIGN(const std::vector<Chart> all, charts("max_steps: 100", 7));
  EXPECT_EQ(all[0].lines[0].points.back().first, 7);
}

TEST(RateChartTest, RefusesWhatHasNoEnd) {
  EXPECT_THAT(charts("optimizer { schedule { exponential { gamma: 0.9 } } }"),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("give --length")));
  EXPECT_THAT(charts("optimizer { schedule { cosine { length { share: 0.5 } } } }"),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("dense: ")));
  EXPECT_OK(charts("max_epochs: 0").status()) << "constant";
}

}  // namespace
}  // namespace millrace
