#include "io/mix/mix_check.h"

#include <gmock/gmock.h>
#include <google/protobuf/text_format.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status_matchers.h"

namespace millrace {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

absl::Status check(const std::string& text) {
  DataConfig data;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(text, &data)) << text;
  return check_mix("here.mix", data);
}

constexpr char kTwo[] =
    "source { data { path: 'a' } proportion: 3 } "
    "source { name: 'b' data { path: 'b' shuffle_rows: 5 } proportion: 0.5 repeat: true }";

TEST(MixCheckTest, TakesWhatIsRight) {
  EXPECT_OK(check(absl::StrCat("mix { ", kTwo, " }")));
  EXPECT_OK(
      check(absl::StrCat("batch_size: 7 drop_remainder: true mix { until: ALL_END ", kTwo, " }")));
  EXPECT_OK(check("mix { source { data { path: 'a' sample { rate: 0.5 } } proportion: 1 } }"));
  EXPECT_OK(
      check("mix { source { data { path: 'a' windows {} } proportion: 1 } "
            "source { data { path: 'b' windows {} } proportion: 2 repeat: true } "
            "source { data { path: 'c' } proportion: 2 repeat: true } }"));
}

TEST(MixCheckTest, TakesDefaultsThatAreWrittenOut) {
  EXPECT_OK(
      check(absl::StrCat("batch_size: 7 format: AUTO shuffle_rows: 0 split { from: 0 to: 1 } "
                         "sample { rate: 1 } max_bad_fraction: 0.01 mix { ",
                         kTwo, " }")));
  EXPECT_OK(
      check("mix { source { data { batch_size: 512 drop_remainder: false } proportion: 1 } }"));
}

class BadTest : public testing::TestWithParam<std::pair<std::string, const char*>> {};
TEST_P(BadTest, IsAnErrorThatSaysWhat) {
  EXPECT_THAT(check(GetParam().first),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       AllOf(HasSubstr("here.mix"), HasSubstr(GetParam().second))));
}
using Case = std::pair<std::string, const char*>;
Case beside(const char* what, const char* why) {
  return {absl::StrCat(what, " mix { ", kTwo, " }"), why};
}
Case in_source(const char* what, const char* why) {
  return {absl::StrCat("mix { ", kTwo, " source { ", what, " } }"), why};
}
INSTANTIATE_TEST_SUITE_P(
    Mixes, BadTest,
    testing::Values(
        Case{"mix {}", "has 0 sources; must be 1 to 64"},
        Case{"mix { source { proportion: 1 repeat: true } }", "all sources repeat"},
        beside("windows {}", "windows are given beside it, but belong to the data of each"),
        beside("path: 'c'", "path is given beside it"),
        beside("shuffle_rows: 9", "shuffle_rows is given beside it, but belongs to"),
        beside("sample { rate: 0.5 }", "sample is given beside it"),
        beside("bad_data: SKIP", "bad_data is given beside it"),
        in_source("data {}", "source[2]: proportion is missing"),
        in_source("proportion: 0", "source[2]: proportion is 0; must be above 0"),
        in_source("proportion: 1 data { batch_size: 7 }", "source[2]: data.batch_size is given"),
        in_source("proportion: 1 data { drop_remainder: true }", "data.drop_remainder is given"),
        in_source("proportion: 1 data { windows {} }",
                  "source[0]: has no windows, but another source has"),
        Case{"mix { source { data { windows { directory { path: 'a' } } } proportion: 1 } "
             "source { data { windows { directory { path: 'a' } rows: 9 } } proportion: 1 } }",
             "source[1]: its windows are the files of source[0]: directory a, pattern *"},
        in_source("proportion: 1 data { mix {} }", "data.mix is given")));

TEST(MixCheckTest, TooManySources) {
  std::string text;
  for (int i = 0; i <= kMaxMixSources; ++i) absl::StrAppend(&text, "source { proportion: 1 } ");
  EXPECT_THAT(check(absl::StrCat("mix { ", text, " }")),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("has 65 sources")));
}

}  // namespace
}  // namespace millrace
