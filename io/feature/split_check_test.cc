#include "io/feature/split_check.h"

#include <google/protobuf/text_format.h>

#include <string>

#include "base/status_matchers.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace millrace {
namespace {

using ::testing::HasSubstr;

SplitConfig parse(const std::string& text) {
  SplitConfig split;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(text, &split)) << text;
  return split;
}

TEST(SplitCheckTest, Accepts) {
  for (const char* text :
       {"", "to: 0.5", "from: 0.25 to: 0.25", "by: HASH_OF_COLUMN column: 'x'",
        "by: ORDER_OF_COLUMN column: 'x' from: 1e9", "by: ORDER_OF_COLUMN column: 'x' to: -3"}) {
    EXPECT_OK(check_split("here", parse(text))) << text;
  }
}

TEST(SplitCheckTest, Refuses) {
  const auto fails = [](const std::string& text, const std::string& what) {
    EXPECT_THAT(check_split("here", parse(text)),
                StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr(what)))
        << text;
  };
  fails("from: 0.5 to: 0.2", "here: from 0.5 to 0.2; from must not be above to");
  fails("from: nan", "from must not be above to");
  fails("to: 1.5", "both must be 0 to 1");
  fails("from: -1", "both must be 0 to 1");
  fails("column: 'x'", "HASH_OF_EXAMPLE takes no column");
  fails("by: HASH_OF_COLUMN", "HASH_OF_COLUMN needs a column");
  fails("by: ORDER_OF_COLUMN column: 'x'", "give from, to or both");
  fails("by: ORDER_OF_COLUMN column: 'x' from: 2 to: 1", "from must not be above to");
}

}  // namespace
}  // namespace millrace
