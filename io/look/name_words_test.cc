#include "io/look/name_words.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace millrace {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(NameWords, AreSplitByCaseAndOtherCharacters) {
  EXPECT_THAT(words_of_name("adUserID2"), ElementsAre("ad", "user", "id"));
  EXPECT_THAT(words_of_name("Ad_user-id (new)"), ElementsAre("ad", "user", "id", "new"));
  EXPECT_THAT(words_of_name("42"), IsEmpty());
  EXPECT_TRUE(name_has_word("item_id", {"key", "id"}));
  EXPECT_FALSE(name_has_word("idea", {"key", "id"}));
}

TEST(NameWords, NamesOfTimes) {
  for (const char* name : {"date", "event_date", "dayOfClick", "ts", "created_at", "dt"}) {
    EXPECT_TRUE(is_name_of_time(name)) << name;
  }
  for (const char* name : {"update", "days", "item_id", "rating", ""}) {
    EXPECT_FALSE(is_name_of_time(name)) << name;
  }
}

TEST(NameWords, NamesOfLoads) {
  for (const char* name : {"day", "hour", "snapshotVersion", "load_id"}) {
    EXPECT_TRUE(is_name_of_load(name)) << name;
  }
  for (const char* name : {"country", "hours", ""}) EXPECT_FALSE(is_name_of_load(name)) << name;
}

}  // namespace
}  // namespace millrace
