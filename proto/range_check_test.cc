#include "proto/range_check.h"

#include <gmock/gmock.h>
#include <google/protobuf/descriptor.h>
#include <google/protobuf/text_format.h>
#include <gtest/gtest.h>

#include <string>

#include "base/status_matchers.h"
#include "proto/range_check_test.pb.h"

namespace millrace {
namespace {

RangeCheckTestMessage parse(const std::string& text) {
  RangeCheckTestMessage message;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(text, &message)) << text;
  return message;
}

std::string text_of(const char* field) {
  return range_text(*RangeCheckTestMessage::descriptor()->FindFieldByName(field));
}

struct Case {
  const char* text;
  const char* error;
};

class RangeCheckTest : public testing::TestWithParam<Case> {};

TEST_P(RangeCheckTest, NamesTheNumberAndItsRule) {
  EXPECT_THAT(check_ranges("w", parse(GetParam().text)),
              StatusIs(absl::StatusCode::kInvalidArgument, testing::StrEq(GetParam().error)))
      << GetParam().text;
}

INSTANTIATE_TEST_SUITE_P(
    Options, RangeCheckTest,
    testing::Values(
        Case{"count: 0", "w: count is 0; must be at least 1"},
        Case{"rate: -1", "w: rate is -1; must be at least 0 and finite"},
        Case{"rate: inf", "w: rate is inf; must be at least 0 and finite"},
        Case{"rate: nan", "w: rate is nan; must be at least 0 and finite"},
        Case{"epsilon: -1", "w: epsilon is -1; must be greater than -1 and finite"},
        Case{"share: 0", "w: share is 0; must be above 0 and at most 1"},
        Case{"share: nan", "w: share is nan; must be above 0 and at most 1"},
        Case{"beta: 1", "w: beta is 1; must be at least 0 and below 1"},
        Case{"ratio: 0.5", "w: ratio is 0.5; must be above 0 and below 1e-06"},
        Case{"threads: 2147483647", "w: threads is 2147483647; must be 0 to 2147483646"},
        Case{"limit: 8", "w: limit is 8; must be at most 7"},
        Case{"interval: 4", "w: interval is 4; must be 0 or at least 5"},
        Case{"mean: -1e39", "w: mean is -1e+39; must be finite"},
        Case{"scale: 1e-39", "w: scale is 1e-39; must be a positive, normal number of float32"},
        Case{"divisor: 144115188075855873", "w: divisor is 144115188075855873; must be up to 2^57"},
        Case{"steps: -1", "w: steps is -1; must be 0 to 1152921504606846976"},
        Case{"width: 1 width: 0", "w: width[1] is 0; must be at least 1"},
        Case{"inner { count: 0 }", "w.inner: count is 0; must be at least 1"},
        Case{"part {} part { inner { limit: 9 } }",
             "w.part[1].inner: limit is 9; must be at most 7"},
        Case{"rate: -1 count: 0",
             "w: count is 0; must be at least 1\nw: rate is -1; must be at least 0 and finite"}));

TEST(CheckRangesTest, AcceptsNumbersInRangeAndAbsentOnes) {
  for (const char* text :
       {"", "count: 1 rate: 0 epsilon: -0.5 share: 1 beta: 0 ratio: 1e-7 threads: 2147483646",
        "limit: 0 interval: 0 scale: 1e-37 width: 1 part { interval: 5 mean: 3e38 }",
        "divisor: 144115188075855872 free: inf"}) {
    EXPECT_OK(check_ranges("w", parse(text))) << text;
  }
}

TEST(CheckRangesTest, OwnRangesAreThoseOfTheMessageAlone) {
  EXPECT_OK(check_own_ranges("w", parse("inner { count: 0 } part { count: 0 }")));
  EXPECT_THAT(check_own_ranges("w", parse("count: 0")),
              StatusIs(absl::StatusCode::kInvalidArgument));
}

TEST(RangeTextTest, SaysTheRule) {
  EXPECT_EQ(text_of("share"), "above 0 and at most 1");
  EXPECT_EQ(text_of("divisor"), "up to 2^57");
  EXPECT_EQ(text_of("free"), "");
}

}  // namespace
}  // namespace millrace
