#include "io/transform/transform_registry.h"

#include <gmock/gmock.h>
#include <google/protobuf/descriptor.h>
#include <gtest/gtest.h>

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

}  // namespace
}  // namespace millrace
