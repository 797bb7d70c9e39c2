#include "tools/output/kept_names.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/status_matchers.h"

namespace millrace {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

TEST(KeptNamesTest, ValuesAreNamesOrListsOfThem) {
  EXPECT_THAT(kept_names({}, {}), IsOkAndHolds(IsEmpty()));
  EXPECT_THAT(kept_names({"b,a", "c"}, {}), IsOkAndHolds(ElementsAre("b", "a", "c")));
  EXPECT_THAT(kept_names({"b,a", "c"}, {"a", "b", "c"}), IsOkAndHolds(ElementsAre("b", "a", "c")));
}

TEST(KeptNamesTest, AValueThatIsAColumnIsThisColumn) {
  EXPECT_THAT(kept_names({"city, country", "a,b"}, {"a", "b", "city, country"}),
              IsOkAndHolds(ElementsAre("city, country", "a", "b")));
  EXPECT_THAT(kept_names({"a,b"}, {"a", "b", "a,b"}), IsOkAndHolds(ElementsAre("a,b")));
  EXPECT_THAT(kept_names({","}, {","}), IsOkAndHolds(ElementsAre(",")));
}

TEST(KeptNamesTest, EmptyNamesAndRepetitionsAreRefused) {
  const auto refused = [](const std::string& what) {
    return StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr(what));
  };
  EXPECT_THAT(kept_names({"a,,b"}, {}), refused("\"a,,b\" has an empty name"));
  EXPECT_THAT(kept_names({""}, {}), refused("\"\" has an empty name"));
  EXPECT_THAT(kept_names({"a,b", "b"}, {}), refused("column \"b\" comes twice"));
  EXPECT_THAT(kept_names({"a,b", "a,b"}, {"a,b"}), refused("column \"a,b\" comes twice"));
}

}  // namespace
}  // namespace millrace
