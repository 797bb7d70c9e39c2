#include "base/parts/part_family.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/status_matchers.h"

namespace millrace {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;

class TestFamily : public PartFamily {
 public:
  using PartFamily::add_part;
  using PartFamily::PartFamily;
};

// Families are never destroyed.
TestFamily& new_family() { return *new TestFamily("tone", "tones { custom { name: \"NAME\" } }"); }

TEST(PartFamily, ListsPartsAndKindsByName) {
  TestFamily& family = new_family();
  family.add_field("low", "low { … }", [] { return "is low"; });
  family.add_field("high", "high { … }", [] { return "is high"; });
  ASSERT_TRUE(family.add_part("loud", "is loud", std::source_location::current()));
  EXPECT_THAT(family.names(), ElementsAre("high", "loud", "low"));
  const std::vector<PartEntry> parts = family.parts();
  EXPECT_EQ(parts[0].description, "is high");
  EXPECT_EQ(parts[0].field, "high { … }");
  EXPECT_EQ(parts[1].description, "is loud");
  EXPECT_EQ(parts[1].field, "");
  EXPECT_THAT(parts[1].places, ElementsAre(HasSubstr("part_family_test.cc:")));
  EXPECT_THAT(PartFamily::all(), Contains(&family));
}

TEST(PartFamily, FindsPartsAndKindsByName) {
  TestFamily& family = new_family();
  family.add_field("low", "low { … }", [] { return "is low"; });
  family.add_part("loud", "is loud", std::source_location::current());
  ASSERT_NE(family.find("low"), nullptr);
  EXPECT_THAT(family.find("low")->places, testing::IsEmpty());
  ASSERT_NE(family.find("loud"), nullptr);
  EXPECT_EQ(family.find("loud")->places.size(), 1u);
  EXPECT_EQ(family.find("lou"), nullptr);
}

TEST(PartFamily, ChecksNames) {
  TestFamily& family = new_family();
  family.add_field("low", "tone: LOW", [] { return ""; });
  family.add_part("loud", "", std::source_location::current());
  EXPECT_OK(family.check("loud"));
  EXPECT_THAT(family.check("loudd"),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       AllOf(HasSubstr("no tone \"loudd\""), HasSubstr("did you mean \"loud\"?"),
                             HasSubstr("Linked in: loud, low"), HasSubstr("alwayslink"))));
  EXPECT_THAT(family.check(""), StatusIs(absl::StatusCode::kInvalidArgument,
                                         HasSubstr("write tones { custom { name: \"NAME\" } }")));
  EXPECT_THAT(family.check("low"), StatusIs(absl::StatusCode::kInvalidArgument,
                                            testing::EndsWith("write tone: LOW instead")));
}

TEST(PartFamily, NamesBothPlacesOfANameThatIsTaken) {
  TestFamily& family = new_family();
  family.add_field("low", "tone: LOW", [] { return ""; });
  const auto place = std::source_location::current();
  EXPECT_TRUE(family.add_part("loud", "", place));
  EXPECT_FALSE(family.add_part("loud", "", std::source_location::current()));
  EXPECT_FALSE(family.add_part("low", "", place));
  const std::string first = "part_family_test.cc:" + std::to_string(place.line());
  const std::string second = "part_family_test.cc:" + std::to_string(place.line() + 2);
  EXPECT_THAT(family.check("loud"), StatusIs(absl::StatusCode::kInvalidArgument,
                                             AllOf(HasSubstr(first), HasSubstr(second))));
  EXPECT_THAT(family.check("low"), StatusIs(absl::StatusCode::kInvalidArgument,
                                            AllOf(HasSubstr("is built in"), HasSubstr(first),
                                                  HasSubstr("another name"))));
}

}  // namespace
}  // namespace millrace
