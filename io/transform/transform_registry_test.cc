#include "io/transform/transform_registry.h"

#include <gmock/gmock.h>
#include <google/protobuf/descriptor.h>
#include <google/protobuf/text_format.h>
#include <gtest/gtest.h>

#include <string>

#include "base/status_matchers.h"
#include "io/transform/transform_testing.h"

namespace millrace {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// A kind without a class would be a crash of every job that uses it.
TEST(TransformRegistryTest, EveryKindHasAClass) {
  const google::protobuf::Descriptor& descriptor = *TransformConfig::descriptor();
  for (int i = 0; i < descriptor.field_count(); ++i) {
    const std::string& name = descriptor.field(i)->name();
    if (name == "custom" || name == "missing_values") continue;
    TransformConfig config;
    config.GetReflection()->MutableMessage(&config, descriptor.field(i));
    EXPECT_OK(create_transform(config, 0)) << name;
  }
}

TEST(TransformRegistryTest, MissingValuesBelongToTheColumn) {
  TransformConfig config;
  config.mutable_missing_values();
  EXPECT_THAT(create_transform(config, 0), StatusIs(absl::StatusCode::kInvalidArgument,
                                                    HasSubstr("must be the first transform")));
}

TEST(TransformRegistryTest, TheConfigurationIsPassedOn) {
  TransformConfig config;
  config.mutable_modulo()->set_divisor(10);
  ASSERT_OK_AND_ASSIGN(const std::unique_ptr<Transform> modulo, create_transform(config, 0));
  EXPECT_THAT(apply_to_ids(*modulo, id_column({23})).list.values, ElementsAre(3));
}

class AddOne : public Transform {
 public:
  std::vector<std::string> files() const override { return {"/one", "/two"}; }
  Takes takes() const override { return Takes::kIntegers; }
  absl::Status apply(const FeatureInput& input, FeatureValues* values) const override {
    for (int64_t& id : values->list.values) ++id;
    return absl::OkStatus();
  }
};

MILLRACE_REGISTER_TRANSFORM(add_one, "adds 1 to ids",
                            [](const CustomConfig&) { return std::make_unique<AddOne>(); });

TEST(TransformRegistryTest, ARegisteredTransformIsMadeByName) {
  TransformConfig config;
  config.mutable_custom()->set_name("add_one");
  ASSERT_OK_AND_ASSIGN(const std::unique_ptr<Transform> custom, create_transform(config, 0));
  EXPECT_THAT(apply_to_ids(*custom, id_column({23})).list.values, ElementsAre(24));
  config.mutable_custom()->set_name("add_two");
  EXPECT_THAT(create_transform(config, 0),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("no transform \"add_two\"")));
  config.mutable_custom()->set_name("modulo");
  EXPECT_THAT(create_transform(config, 0),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("write modulo { … }")));
}

TEST(TransformRegistryTest, NamesTheFilesOfATransform) {
  TransformConfig config;
  config.mutable_vocabulary()->set_path("/words");
  EXPECT_THAT(files_of_transform(config), IsOkAndHolds(ElementsAre("/words")));
  config.mutable_custom()->set_name("add_one");
  EXPECT_THAT(files_of_transform(config), IsOkAndHolds(ElementsAre("/one", "/two")));
  config.mutable_custom()->set_name("add_two");
  EXPECT_THAT(files_of_transform(config), StatusIs(absl::StatusCode::kInvalidArgument));
  config.mutable_cross();
  EXPECT_THAT(files_of_transform(config), IsOkAndHolds(IsEmpty()));
}

TransformConfig parse(const std::string& text) {
  TransformConfig transform;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(text, &transform)) << text;
  return transform;
}

TEST(TransformCheckTest, AMissingKindListsAll) {
  EXPECT_THAT(
      check_transform("here", TransformConfig()),
      StatusIs(absl::StatusCode::kInvalidArgument,
               "here: says not which transform; known: hash, modulo, bucketize, log1p, clip, "
               "threshold, multi_hash, cross, truncate, unique, vocabulary, cast, "
               "standardize, missing_values, is_missing, custom"));
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

}  // namespace
}  // namespace millrace
