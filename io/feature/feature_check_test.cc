#include "io/feature/feature_check.h"

#include <gmock/gmock.h>
#include <google/protobuf/text_format.h>
#include <gtest/gtest.h>

#include <string>

#include "absl/strings/str_cat.h"
#include "base/status_matchers.h"

namespace millrace {
namespace {

constexpr auto kInvalid = absl::StatusCode::kInvalidArgument;

FeatureConfig parse(const std::string& text) {
  FeatureConfig feature;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(text, &feature)) << text;
  return feature;
}

TEST(FeatureCheckTest, Accepts) {
  for (const char* text :
       {"", "pooling: MEAN max_ids: 3 weight_column: 'w' default_id: 1 transform { unique {} }",
        "kind: DENSE default_value: 0.5 transform { log1p {} }", "kind: GROUP_ID default_id: 1",
        "kind: LABEL transform { threshold { at_least: 3 } }",
        "kind: GROUP_ID transform { hash {} }",
        "kind: DENSE transform { hash {} } transform { modulo { divisor: 2 } }"}) {
    EXPECT_OK(check_feature("f", parse(text))) << text;
  }
}

TEST(FeatureCheckTest, RefusesFieldsOfOtherKinds) {
  const auto fails = [](const std::string& text, const std::string& message) {
    EXPECT_THAT(check_feature("f", parse(text)), StatusIs(kInvalid, message));
  };
  fails("kind: DENSE table: 't'", "f: table is set, but a DENSE feature looks up none");
  fails("kind: LABEL pooling: MEAN", "f: pooling is chosen, but a LABEL feature has none");
  fails("kind: WEIGHT max_ids: 2", "f: max_ids is set, but a WEIGHT feature has no lists");
  fails("kind: GROUP_ID weight_column: 'w'",
        "f: weight_column is set, but a GROUP_ID feature has no ids");
  fails("default_value: 1",
        "f: default_value is set, but a SPARSE feature holds ids; write default_id");
  fails("kind: DENSE default_id: 1",
        "f: default_id is set, but a DENSE feature holds numbers; write default_value");
  fails("kind: DENSE transform { unique {} }",
        "f.transform[0]: is for lists of ids, which a DENSE feature has not");
  fails("transform { unique {} } transform { modulo {} }",
        "f.transform[1].modulo: divisor is 0; must be at least 1");
}

TEST(FeatureCheckTest, NumbersAreNoIdsOfHash) {
  for (const char* refused : {"kind: DENSE transform { clip { max: 3 } } transform { hash {} }",
                              "kind: LABEL transform { log1p {} } transform { hash {} }",
                              "kind: DENSE transform { cast {} } transform { hash {} } "
                              "transform { log1p {} }"}) {
    EXPECT_THAT(std::string(check_numbers("f", parse(refused)).message()),
                testing::StartsWith("f.transform[1]: hash gives ids, but a "))
        << refused;
  }
  for (const char* accepted :
       {"kind: SPARSE transform { hash {} }", "kind: GROUP_ID transform { hash {} }", "kind: DENSE",
        "kind: DENSE transform { hash {} } transform { modulo { divisor: 2 } }"
        " transform { log1p {} }"}) {
    EXPECT_OK(check_numbers("f", parse(accepted))) << accepted;
  }
}

TEST(FeatureCheckTest, LabelsAloneMayBeMissing) {
  EXPECT_OK(check_feature("f", parse("kind: LABEL missing: MASK transform { log1p {} }")));
  EXPECT_OK(check_feature("f", parse("kind: LABEL missing: DEFAULT default_value: 1")));
  EXPECT_OK(check_feature("f", parse("kind: DENSE missing: DEFAULT")));
  for (const char* kind : {"SPARSE", "DENSE", "WEIGHT", "EXAMPLE_ID", "GROUP_ID"}) {
    EXPECT_THAT(
        check_feature("f", parse(absl::StrCat("missing: MASK kind: ", kind))),
        StatusIs(kInvalid, absl::StrCat("f: missing is MASK, which is for labels, not for a ", kind,
                                        " feature")));
  }
  EXPECT_THAT(check_feature("f", parse("kind: LABEL missing: MASK default_value: 0")),
              StatusIs(kInvalid, testing::HasSubstr("default_value is set too; leave one out")));
}

TEST(FeatureCheckTest, WhatIsMissingIsKnownOfEveryRow) {
  const std::string is_missing = " transform { is_missing {} }";
  for (const std::string kind : {"SPARSE", "DENSE", "LABEL", "GROUP_ID"}) {
    EXPECT_OK(check_feature("f", parse("kind: " + kind + is_missing)));
  }
  EXPECT_THAT(check_feature("f", parse("kind: LABEL missing: MASK" + is_missing)),
              StatusIs(kInvalid,
                       "f: missing is MASK, but with is_missing no label is missing; leave one "
                       "out"));
  EXPECT_THAT(
      check_feature("f", parse("weight_column: 'w'" + is_missing)),
      StatusIs(kInvalid, "f: weight_column is set, but what is_missing gives has no weight"));
  EXPECT_THAT(
      check_feature("f", parse("transform { cast {} }" + is_missing)),
      StatusIs(kInvalid, testing::HasSubstr("f.transform[1].is_missing: must be the first")));
}

TEST(FeatureCheckTest, CrossesNeedASparseFeatureBeforeThem) {
  const FeatureConfig feature = parse("transform { cross { feature: 'user' } }");
  EXPECT_OK(check_crosses("f", feature, {"item", "user"}));
  EXPECT_THAT(check_crosses("f", feature, {"item", "users"}),
              StatusIs(kInvalid,
                       "f.transform[0]: cross: no sparse feature \"user\" before this one; did you "
                       "mean \"users\"?"));
}

TEST(FeatureCheckTest, TransformsOfMissingValuesComeFirst) {
  const std::string missing = "transform { missing_values { nan: true } } ";
  const std::string is_missing = "transform { is_missing {} } ", other = "transform { cast {} } ";
  for (const std::string& order :
       {std::string(), missing, missing + other, is_missing, missing + is_missing,
        missing + is_missing + other, is_missing + other}) {
    EXPECT_OK(check_feature("here", parse(order))) << order;
  }
  const auto fails = [&](const std::string& order, const std::string& message) {
    EXPECT_THAT(check_feature("here", parse(order)), StatusIs(kInvalid, message));
  };
  const std::string late = "must be the first transform, or the second after missing_values";
  fails(other + missing, "here.transform[1].missing_values: must be the first transform");
  fails(missing + missing, "here.transform[1].missing_values: must be the first transform");
  fails(other + is_missing, "here.transform[1].is_missing: " + late);
  fails(missing + other + is_missing, "here.transform[2].is_missing: " + late);
}

}  // namespace
}  // namespace millrace
