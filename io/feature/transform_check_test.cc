#include "io/feature/transform_check.h"

#include <google/protobuf/text_format.h>

#include <string>

#include "base/status_matchers.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace millrace {
namespace {

using ::testing::HasSubstr;

TransformConfig parse(const std::string& text) {
  TransformConfig transform;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(text, &transform)) << text;
  return transform;
}

TEST(TransformCheckTest, EveryTransformHasItsName) {
  const google::protobuf::OneofDescriptor& kinds = *TransformConfig::descriptor()->oneof_decl(0);
  for (int i = 0; i < kinds.field_count(); ++i) {
    TransformConfig transform;
    transform.GetReflection()->MutableMessage(&transform, kinds.field(i));
    EXPECT_EQ(transform_name(transform), kinds.field(i)->name());
    // The error of an empty transform lists them all.
    EXPECT_THAT(std::string(check_transform("here", TransformConfig()).message()),
                HasSubstr(kinds.field(i)->name()));
  }
  EXPECT_EQ(transform_name(TransformConfig()), "transform");
}

TEST(TransformCheckTest, Accepts) {
  for (const char* text :
       {"hash {}", "modulo { divisor: 1 }", "bucketize { boundary: 1 }", "log1p {}", "clip {}",
        "threshold { at_least: -1 }", "multi_hash { divisor: 5 }", "cross { feature: 'a' }",
        "truncate { count: 1 }", "unique {}", "vocabulary { path: 'v' }", "cast {}",
        "standardize { mean: 0 standard_deviation: 1e-9 }", "missing_values { number: inf }",
        "missing_values { text: ' ' }", "missing_values { nan: true }", "is_missing {}"}) {
    EXPECT_OK(check_transform("here", parse(text))) << text;
  }
}

TEST(TransformCheckTest, RefusesNamingPlaceAndField) {
  const auto fails = [](const std::string& text, const std::string& what) {
    EXPECT_THAT(check_transform("here", parse(text)),
                StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr(what)));
  };
  fails("bucketize {}", "here.bucketize: boundary is missing");
  fails("bucketize { boundary: [2, 2] }",
        "here.bucketize: boundary[1] is 2 after 2; must increase");
  fails("bucketize { boundary: nan }", "here.bucketize: boundary[0] is not a number");
  fails("modulo {}", "here.modulo: divisor is 0; must be at least 1");
  fails("threshold { at_least: nan }", "here.threshold: at_least is not a number");
  fails("multi_hash { divisor: 9 count: 0 }", "here.multi_hash: count is 0");
  fails("vocabulary {}", "here.vocabulary: path is missing");
  fails("cross {}", "here.cross: feature is missing");
  fails("standardize { standard_deviation: 1 }", "here.standardize: mean is missing");
  fails("standardize { mean: 1 }", "here.standardize: standard_deviation is missing");
  fails("standardize { mean: nan standard_deviation: 1 }", "mean is nan; must be finite");
  fails("standardize { mean: 1 standard_deviation: 0 }",
        "here.standardize: standard_deviation is 0; must be above 0 and finite");
  fails("standardize { mean: 1 standard_deviation: -2 }",
        "standard_deviation is -2; must be above");
  fails("missing_values {}", "here.missing_values: says not which values are missing");
  fails("missing_values { nan: false }", "give number, text or nan: true");
  fails("missing_values { number: [1, nan] }",
        "here.missing_values: number[1] is not a number; write nan: true");
  fails("missing_values { text: ['a', ''] }", "here.missing_values: text[1] is empty");
}

TEST(TransformCheckTest, TransformsOfMissingValuesComeFirst) {
  const auto check = [](const std::string& text) {
    FeatureConfig feature;
    EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(text, &feature)) << text;
    return check_transform_order("here", feature);
  };
  const std::string missing = "transform { missing_values { nan: true } } ";
  const std::string is_missing = "transform { is_missing {} } ", other = "transform { cast {} } ";
  for (const std::string& order :
       {std::string(), missing, missing + other, is_missing, missing + is_missing,
        missing + is_missing + other, is_missing + other}) {
    EXPECT_OK(check(order)) << order;
  }
  const auto fails = [&](const std::string& order, const std::string& message) {
    EXPECT_THAT(check(order), StatusIs(absl::StatusCode::kInvalidArgument, message));
  };
  const std::string late = "must be the first transform, or the second after missing_values";
  fails(other + missing, "here.transform[1].missing_values: must be the first transform");
  fails(missing + missing, "here.transform[1].missing_values: must be the first transform");
  fails(other + is_missing, "here.transform[1].is_missing: " + late);
  fails(missing + other + is_missing, "here.transform[2].is_missing: " + late);
}

}  // namespace
}  // namespace millrace
