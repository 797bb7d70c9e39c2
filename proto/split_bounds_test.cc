#include "proto/split_bounds.h"

#include <google/protobuf/text_format.h>
#include <gtest/gtest.h>

#include <limits>
#include <string>

namespace millrace {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

SplitConfig parse(const std::string& text) {
  SplitConfig split;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(text, &split)) << text;
  return split;
}

TEST(SplitBoundsTest, HashSplitsAreFromZeroToOneUnlessSaid) {
  EXPECT_EQ(split_bounds(parse("")).from, 0);
  EXPECT_EQ(split_bounds(parse("")).to, 1);
  EXPECT_EQ(split_bounds(parse("by: HASH_OF_COLUMN to: 0.9")).from, 0);
  EXPECT_EQ(split_bounds(parse("from: 0.9")).to, 1);
}

TEST(SplitBoundsTest, OrderedSplitsAreUnboundedUnlessSaid) {
  EXPECT_EQ(split_bounds(parse("by: ORDER_OF_COLUMN to: 5")).from, -kInfinity);
  EXPECT_EQ(split_bounds(parse("by: ORDER_OF_COLUMN from: 5")).to, kInfinity);
  EXPECT_EQ(split_bounds(parse("by: ORDER_OF_COLUMN from: 5")).from, 5);
}

TEST(SplitBoundsTest, AHashSplitFromZeroToOneTakesAll) {
  EXPECT_TRUE(takes_all(parse("")));
  EXPECT_TRUE(takes_all(parse("by: HASH_OF_COLUMN column: 'x' from: 0 to: 1")));
  EXPECT_FALSE(takes_all(parse("to: 0.9")));
  EXPECT_FALSE(takes_all(parse("by: ORDER_OF_COLUMN column: 'x' from: 0 to: 1")));
}

}  // namespace
}  // namespace millrace
