#include "io/transform/transform.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "io/transform/feature_input.h"

namespace millrace {
namespace {

using ::testing::ElementsAre;

TEST(FeatureValuesTest, IdsBecomeNumbers) {
  FeatureValues values{.are_ids = true};
  values.list.values = {3, -1};
  values.make_numbers();
  EXPECT_FALSE(values.are_ids);
  EXPECT_THAT(values.numbers, ElementsAre(3, -1));
  values.numbers = {0.5};
  values.make_numbers();
  EXPECT_THAT(values.numbers, ElementsAre(0.5));
}

TEST(FeatureValuesTest, NumbersBecomeIds) {
  FeatureValues values;
  values.make_ids(2)[1] = 7;
  EXPECT_TRUE(values.are_ids);
  EXPECT_THAT(values.list.values, ElementsAre(0, 7));
}

TEST(ColumnPlaceTest, NamesFileRowOrLineAndColumn) {
  ColumnPlace place{"a.csv", "c1", 10};
  EXPECT_EQ(place.error(1, "is bad"), absl::DataLossError("a.csv, row 11, column c1: is bad"));
  const std::vector<int64_t> lines = {12, 15};
  place.lines = lines;
  EXPECT_EQ(place.error(1, "is bad"), absl::DataLossError("a.csv, line 15, column c1: is bad"));
}

}  // namespace
}  // namespace millrace
