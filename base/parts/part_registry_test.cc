#include "base/parts/part_registry.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <stdexcept>

#include "base/failure_kind.h"
#include "base/status_matchers.h"

namespace millrace {
namespace {

using testing::AllOf;
using testing::HasSubstr;

using Factory = std::function<absl::StatusOr<std::unique_ptr<int>>(int)>;
using Registry = PartRegistry<Factory>;

Registry& new_registry(Factory factory) {
  auto& registry = *new Registry("number", "numbers { custom { name: \"NAME\" } }");
  registry.add("same", "", std::move(factory), std::source_location::current());
  return registry;
}

TEST(PartRegistry, CreatesByName) {
  const Registry& registry = new_registry([](int value) { return std::make_unique<int>(value); });
  ASSERT_OK_AND_ASSIGN(const std::unique_ptr<int> part, registry.create("same", 7));
  EXPECT_EQ(*part, 7);
  EXPECT_THAT(registry.create("sane", 7),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("did you mean \"same\"?")));
}

TEST(PartRegistry, FailuresOfFactoriesNameThePart) {
  EXPECT_THAT(new_registry([](int) { return absl::NotFoundError("no file"); }).create("same", 1),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("number \"same\": no file")));
  EXPECT_THAT(new_registry([](int) -> Factory::result_type {
                throw std::runtime_error("too large");
              }).create("same", 1),
              StatusIs(absl::StatusCode::kInternal,
                       AllOf(HasSubstr("number \"same\""), HasSubstr("too large"))));
  EXPECT_THAT(new_registry([](int) { return nullptr; }).create("same", 1),
              StatusIs(absl::StatusCode::kInternal, HasSubstr("its factory made none")));
}

TEST(PartRegistry, ExceptionsAndNothingAreFailuresOfThePart) {
  const auto kind = [](Factory factory) {
    return kind_of(new_registry(std::move(factory)).create("same", 1).status());
  };
  EXPECT_EQ(kind([](int) -> Factory::result_type { throw std::runtime_error("x"); }),
            FailureKind::kPart);
  EXPECT_EQ(kind([](int) { return nullptr; }), FailureKind::kPart);
  EXPECT_EQ(kind([](int) { return absl::NotFoundError("x"); }), FailureKind::kOther);
}

TEST(PartRegistry, ANameRegisteredTwiceMakesNothing) {
  Registry& registry = new_registry([](int value) { return std::make_unique<int>(value); });
  registry.add(
      "same", "", [](int) { return std::make_unique<int>(0); }, std::source_location::current());
  EXPECT_THAT(registry.create("same", 7),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("registered more than once")));
}

}  // namespace
}  // namespace millrace
