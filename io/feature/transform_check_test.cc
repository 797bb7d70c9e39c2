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
        "truncate { count: 1 }", "unique {}", "vocabulary { path: 'v' }", "cast {}"}) {
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
}

}  // namespace
}  // namespace millrace
