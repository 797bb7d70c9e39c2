#include "io/feature_schema_check.h"

#include <google/protobuf/text_format.h>
#include <gtest/gtest.h>

#include <string>

#include "base/status_matchers.h"

namespace millrace {
namespace {

absl::Status check(const std::string& text) {
  TrainConfig train;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(text, &train)) << text;
  return check_feature_schema("t", train);
}

TEST(FeatureSchemaCheckTest, Accepts) {
  EXPECT_OK(
      check("feature { name: 'y' kind: LABEL } feature { name: 'z' kind: LABEL }"
            "feature { name: 'a' } feature { name: 'b' } feature { name: 'w' kind: WEIGHT }"
            "feature { name: 'e' kind: EXAMPLE_ID } feature { name: 'g' kind: GROUP_ID }"));
}

TEST(FeatureSchemaCheckTest, Refuses) {
  const auto fails = [](const std::string& text, const std::string& message) {
    EXPECT_THAT(check(text), StatusIs(absl::StatusCode::kInvalidArgument, message));
  };
  fails("", "t: no feature is of kind LABEL; at least one is needed");
  fails("feature { kind: LABEL }", "t.feature[0]: name is missing");
  fails("feature { name: 'a' kind: LABEL } feature { name: 'a' }",
        "t.feature[1] \"a\": the name is taken by an entry before it");
  fails(
      "feature { name: 'y' kind: LABEL } feature { name: 'a' kind: GROUP_ID }"
      "feature { name: 'b' kind: GROUP_ID }",
      "t.feature[2] \"b\": there is a feature of kind GROUP_ID before it");
  fails("feature { name: 'a' } feature { name: 'a' }",
        "t.feature[1] \"a\": the name is taken by an entry before it\n"
        "t: no feature is of kind LABEL; at least one is needed");
}

}  // namespace
}  // namespace millrace
