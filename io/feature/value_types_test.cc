#include "io/feature/value_types.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/status_matchers.h"

namespace millrace {
namespace {

using ::testing::HasSubstr;

constexpr auto kInvalid = absl::StatusCode::kInvalidArgument;

// A transform that accepts the given types and returns the type of its input.
class Echo : public Transform {
 public:
  explicit Echo(Takes takes) : takes_(takes) {}
  Takes takes() const override { return takes_; }
  ValueType gives(ValueType in) const override { return in; }
  absl::Status apply(const FeatureInput&, FeatureValues*) const override {
    return absl::OkStatus();
  }

 private:
  const Takes takes_;
};

TEST(ValueTypesTest, ATransformTakesItsTypesAlone) {
  using Takes = Transform::Takes;
  const auto takes = [](Takes takes, ValueType type) {
    return type_after(Echo(takes), "echo", type).ok();
  };
  for (const ValueType type :
       {ValueType::kInt64, ValueType::kUint64, ValueType::kDouble, ValueType::kString}) {
    EXPECT_TRUE(takes(Takes::kAny, type));
    EXPECT_EQ(takes(Takes::kNumbers, type), type != ValueType::kString);
    EXPECT_EQ(takes(Takes::kIntegers, type), is_integer(type));
    EXPECT_EQ(takes(Takes::kTextOrIntegers, type), type != ValueType::kDouble);
  }
  EXPECT_THAT(type_after(Echo(Takes::kIntegers), "echo", ValueType::kDouble),
              StatusIs(kInvalid, HasSubstr("echo needs integers and gets numbers; if they are ids "
                                           "stored as numbers, put the transform cast before")));
}

TEST(ValueTypesTest, DelimitedTextBecomesWhatATransformTakes) {
  EXPECT_EQ(type_for_text(Transform::Takes::kAny), ValueType::kString);
  EXPECT_EQ(type_for_text(Transform::Takes::kTextOrIntegers), ValueType::kString);
  EXPECT_EQ(type_for_text(Transform::Takes::kIntegers), ValueType::kInt64);
  EXPECT_EQ(type_for_text(Transform::Takes::kNumbers), ValueType::kDouble);
}

TEST(ValueTypesTest, IdsAreIntegersAndOtherFeaturesNumbers) {
  EXPECT_OK(check_result_type(FeatureConfig::GROUP_ID, ValueType::kUint64));
  EXPECT_OK(check_result_type(FeatureConfig::DENSE, ValueType::kInt64));
  EXPECT_OK(check_result_type(FeatureConfig::LABEL, ValueType::kDouble));
  EXPECT_THAT(check_result_type(FeatureConfig::SPARSE, ValueType::kString),
              StatusIs(kInvalid, "SPARSE needs integers and gets text; add the transform hash"));
  EXPECT_THAT(check_result_type(FeatureConfig::SPARSE, ValueType::kDouble),
              StatusIs(kInvalid, HasSubstr("SPARSE needs integers and gets numbers; add the "
                                           "transform cast")));
  EXPECT_THAT(check_result_type(FeatureConfig::DENSE, ValueType::kString),
              StatusIs(kInvalid, "DENSE needs numbers and gets text"));
}

}  // namespace
}  // namespace millrace
