#include "base/text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace millrace {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(EditDistanceTest, CountsEdits) {
  EXPECT_EQ(edit_distance("", ""), 0);
  EXPECT_EQ(edit_distance("abc", ""), 3);
  EXPECT_EQ(edit_distance("", "abc"), 3);
  EXPECT_EQ(edit_distance("kitten", "sitting"), 3);
  EXPECT_EQ(edit_distance("batch", "bacth"), 1) << "a swap of neighbours is one edit";
  EXPECT_EQ(edit_distance("Adam", "ADAM"), 0) << "case does not count";
}

TEST(EditDistanceTest, IsSymmetric) {
  const std::vector<std::string> words = {"", "a", "dim", "dims", "learning_rate", "laerning_rat"};
  for (const std::string& a : words) {
    for (const std::string& b : words) EXPECT_EQ(edit_distance(a, b), edit_distance(b, a));
  }
}

TEST(NearestTest, FindsWhatIsNearAndNothingElse) {
  const std::vector<std::string> names = {"batch_size", "path", "format", "split"};
  EXPECT_EQ(nearest("bach_size", names), "batch_size");
  EXPECT_EQ(nearest("paths", names), "path");
  EXPECT_EQ(nearest("optimizer", names), "");
  EXPECT_EQ(nearest("x", {}), "");
  EXPECT_EQ(nearest("item3", {"item1", "item2"}), "item1") << "ties go to the first";
}

TEST(NearestTest, ShortNamesAreNearWhatSharesMoreThanHalf) {
  EXPECT_EQ(nearest("x", {"a", "b"}), "");
  EXPECT_EQ(nearest("A", {"b", "a"}), "a") << "case does not count";
  EXPECT_EQ(nearest("c", {"c1", "c2"}), "");
  EXPECT_EQ(nearest("c3", {"c1", "c2"}), "");
  EXPECT_EQ(nearest("cc", {"a", "c"}), "c");
  EXPECT_EQ(nearest("ac", {"auc", "ne"}), "auc");
  EXPECT_EQ(nearest("ua", {"au"}), "");
  EXPECT_EQ(nearest("acu", {"auc", "ne"}), "auc");
}

TEST(DidYouMeanTest, SuggestsOrLists) {
  EXPECT_EQ(did_you_mean("adma", {"adam", "sgd"}), "; did you mean \"adam\"?");
  EXPECT_EQ(did_you_mean("nothing like it", {"adam", "sgd"}), "; known: adam, sgd");
  EXPECT_EQ(did_you_mean("nothing like it", {"a", "b", "c"}, 2), "; known: a, b, …");
  EXPECT_EQ(did_you_mean("x", {}), "");
}

TEST(ExpandRangeTest, GivesOneTextForEachNumber) {
  std::vector<int64_t> numbers;
  EXPECT_THAT(expand_range("c{1..3}", &numbers), ElementsAre("c1", "c2", "c3"));
  EXPECT_THAT(numbers, ElementsAre(1, 2, 3));
  EXPECT_THAT(expand_range("{9..11}_x"), ElementsAre("9_x", "10_x", "11_x"));
  EXPECT_THAT(expand_range("a{-1..0}b"), ElementsAre("a-1b", "a0b"));
  EXPECT_THAT(expand_range("a{5..5}"), ElementsAre("a5"));
}

TEST(ExpandRangeTest, OnlyTheFirstRangeIsExpanded) {
  EXPECT_THAT(expand_range("{1..2}{3..4}"), ElementsAre("1{3..4}", "2{3..4}"));
  EXPECT_THAT(expand_range("{}a{1..2}"), ElementsAre("{}a1", "{}a2"));
  EXPECT_THAT(expand_range("{a,b}{1..2}"), ElementsAre("{a,b}1", "{a,b}2"));
}

TEST(ExpandRangeTest, AnythingElseIsLeftAlone) {
  std::vector<int64_t> numbers;
  for (const char* text : {"", "c1", "c{}", "c{1}", "c{1..}", "c{..3}", "c{3..1}", "c{a..b}",
                           "c}1..2{", "c{1..2", "c{1..2000000}", "c{1..99999999999999999999}",
                           "{-9223372036854775808..9223372036854775807}"}) {
    EXPECT_THAT(expand_range(text, &numbers), ElementsAre(text));
  }
  EXPECT_THAT(numbers, IsEmpty());
}

TEST(ToAbslTest, Converts) {
  const std::string_view text("a\0b", 3);
  EXPECT_EQ(to_absl(text), absl::string_view("a\0b", 3));
}

}  // namespace
}  // namespace millrace
