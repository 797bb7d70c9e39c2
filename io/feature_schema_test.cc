#include "io/feature_schema.h"

#include <google/protobuf/text_format.h>
#include <gtest/gtest.h>

#include <string>

#include "base/status_matchers.h"

namespace millrace {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

absl::StatusOr<FeatureSchema> make(const std::string& text) {
  TrainConfig config;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(text, &config));
  return FeatureSchema::create(config);
}

TEST(FeatureSchemaTest, KeepsTheOrderOfTheConfiguration) {
  ASSERT_OK_AND_ASSIGN(const FeatureSchema schema, make(R"(
    feature { name: "b" pooling: MEAN table: "t" }
    feature { name: "y" kind: LABEL }
    feature { name: "d" kind: DENSE }
    feature { name: "a" }
    feature { name: "c" kind: DENSE }
    feature { name: "w" kind: WEIGHT })"));
  EXPECT_EQ(schema.features().size(), 6u);
  EXPECT_THAT(schema.dense(), ElementsAre("d", "c"));
  EXPECT_THAT(schema.labels(), ElementsAre("y"));
  ASSERT_EQ(schema.sparse().size(), 2u);
  EXPECT_EQ(schema.sparse()[0].table, "t");
  EXPECT_EQ(schema.sparse()[0].pooling, MEAN);
  EXPECT_EQ(schema.sparse()[1].table, "a");
  EXPECT_THAT(schema.sparse_index("a"), IsOkAndHolds(1));
  EXPECT_THAT(schema.sparse_index("d"), StatusIs(absl::StatusCode::kNotFound, HasSubstr("\"d\"")));
}

TEST(FeatureSchemaTest, KeptColumnsStayInTheOrderGiven) {
  TrainConfig config;
  FeatureConfig* label = config.add_feature();
  label->set_name("y");
  label->set_kind(FeatureConfig::LABEL);
  EXPECT_THAT(FeatureSchema::create(config)->kept_columns(), IsEmpty());
  EXPECT_THAT(FeatureSchema::create(config, {"user", "day"})->kept_columns(),
              ElementsAre("user", "day"));
}

TEST(FeatureSchemaTest, RefusesWhatItsCheckDoes) {
  EXPECT_THAT(make("feature { name: 'a' } feature { name: 'a' }"),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("train.feature[1] \"a\": the name is taken")));
}

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
