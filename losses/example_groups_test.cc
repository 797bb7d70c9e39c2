#include "losses/example_groups.h"

#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace millrace {
namespace {

using ::testing::ElementsAre;

TEST(ExampleGroupsTest, PlacesOfEachGroup) {
  const ExampleGroups groups(at::tensor({7, -1, 7, 3, -1, 7}, at::kLong));
  ASSERT_EQ(groups.size(), 3u);
  EXPECT_THAT(groups.examples(0), ElementsAre(1, 4));
  EXPECT_THAT(groups.examples(1), ElementsAre(3));
  EXPECT_THAT(groups.examples(2), ElementsAre(0, 2, 5));
}

TEST(ExampleGroupsTest, NoExamples) {
  EXPECT_EQ(ExampleGroups(at::empty({0}, at::kLong)).size(), 0u);
}

TEST(ExampleGroupsTest, IdsThatAreNotContiguous) {
  const ExampleGroups groups(at::tensor({1, 9, 2, 9, 1, 9}, at::kLong).view({3, 2}).select(1, 0));
  ASSERT_EQ(groups.size(), 2u);
  EXPECT_THAT(groups.examples(0), ElementsAre(0, 2));
}

}  // namespace
}  // namespace millrace
