#include "embedding/shard/announced_ids.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/status_matchers.h"

namespace millrace {
namespace {

using ::testing::HasSubstr;

TEST(AnnouncedIdsTest, AnIdThatWasNotAnnouncedIsNamed) {
  AnnouncedIds announced;
  EXPECT_OK(announced.check(0, {7}));
  announced.begin(2);
  announced.add(0, {7, -3, 7});
  announced.add(0, {9});
  EXPECT_OK(announced.check(0, {9, 7, -3, 7}));
  EXPECT_OK(announced.check(1, {}));
  EXPECT_THAT(announced.check(0, {9, 8, 6}),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("id 8 was not announced")));
  EXPECT_FALSE(announced.check(1, {7}).ok()) << "it was announced for another table";
  announced.begin(2);
  EXPECT_FALSE(announced.check(0, {7}).ok());
  announced.end();
  EXPECT_OK(announced.check(0, {7}));
}

}  // namespace
}  // namespace millrace
