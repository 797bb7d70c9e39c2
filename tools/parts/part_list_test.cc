#include "tools/parts/part_list.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/parts/part_registry.h"
#include "base/status_matchers.h"

namespace millrace {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::MatchesRegex;
using testing::Not;

class Tones : public PartFamily {
 public:
  Tones() : PartFamily("low tone", "tones { custom { name: \"NAME\" } }") {
    add_field("bass", "bass { … }", [] { return "very low"; });
    add_field("tenor", "tenor { … }", [] { return "rather low"; });
    add_part("alto", "not low", std::source_location::current());
    add_part("twice", "", std::source_location::current());
    add_part("twice", "", std::source_location::current());
    add_part("tenor", "from outside", std::source_location::current());
  }
};
const Tones& kTones = *new Tones;
const PartFamily& kEmpty = *new PartFamily("colour", "colours { name: \"NAME\" }");

TEST(PartListTest, ListsOneFamily) {
  ASSERT_OK_AND_ASSIGN(const std::string text, list_parts("low_tone"));
  EXPECT_THAT(text,
              AllOf(HasSubstr("low_tone, configured by tones { custom { name: \"NAME\" } }\n"),
                    HasSubstr("bass   built in"), HasSubstr("very low"),
                    HasSubstr("tools/parts/part_list_test.cc:22"),
                    HasSubstr("ambiguous: tools/parts/part_list_test.cc:23 and "
                              "tools/parts/part_list_test.cc:24"),
                    HasSubstr("ambiguous: built in and tools/parts/part_list_test.cc:25"),
                    Not(HasSubstr("colour"))));
  EXPECT_EQ(list_parts("low tone").value(), text);
}

TEST(PartListTest, ListsAllFamilies) {
  ASSERT_OK_AND_ASSIGN(const std::string text, list_parts(""));
  EXPECT_THAT(text, AllOf(HasSubstr("colour, configured by colours { name: \"NAME\" }\n"
                                    "(none is linked in)\n"),
                          HasSubstr("\n\nlow_tone, configured by")));
}

TEST(PartListTest, AnUnknownFamilyNamesTheNearest) {
  EXPECT_THAT(list_parts("low_tonne"), StatusIs(absl::StatusCode::kInvalidArgument,
                                                AllOf(HasSubstr("did you mean \"low_tone\"?"),
                                                      HasSubstr("families: colour, low_tone"))));
}

}  // namespace
}  // namespace millrace
