#include "hook/hook_registry.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/status_matchers.h"

namespace millrace {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::Field;
using ::testing::HasSubstr;

class PlainHook : public Hook {
 public:
  explicit PlainHook(std::string output_dir) : output_dir_(std::move(output_dir)) {}
  static absl::StatusOr<std::unique_ptr<Hook>> create(const HookConfig&,
                                                      const HookResources& resources) {
    return std::make_unique<PlainHook>(resources.output_dir);
  }
  absl::string_view name() const override { return output_dir_; }

 private:
  const std::string output_dir_;
};

absl::StatusOr<std::unique_ptr<Hook>> refuse(const HookConfig&, const HookResources&) {
  return absl::InvalidArgumentError("every_steps is negative");
}

MILLRACE_REGISTER_HOOK(plain, "does nothing", &PlainHook::create);
MILLRACE_REGISTER_HOOK(choosy, "cannot be made", &refuse);
MILLRACE_REGISTER_HOOK(forgetful, "makes no hook", [](const HookConfig&, const HookResources&) {
  return absl::StatusOr<std::unique_ptr<Hook>>(nullptr);
});

MILLRACE_REGISTER_HOOK(sink, "sends reports", &refuse, OnError::kWarn);

absl::StatusOr<std::unique_ptr<Hook>> create(const std::string& name) {
  HookConfig config;
  config.set_name(name);
  return create_hook(config, {FileSystem::local(), Clock::real(), "out/dir", {}});
}

TEST(HookRegistryTest, CreatesByName) {
  ASSERT_OK_AND_ASSIGN(const std::unique_ptr<Hook> hook, create("plain"));
  EXPECT_EQ(hook->name(), "out/dir");
}

TEST(HookRegistryTest, AFactoryGetsSecrets) {
  ASSERT_EQ(setenv("MILLRACE_TEST_SECRET", "plain", 1), 0);
  EXPECT_OK(create("${secret:MILLRACE_TEST_SECRET}"));
  EXPECT_THAT(
      create("${secret:MILLRACE_TEST_UNSET}"),
      StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("MILLRACE_TEST_UNSET is not set")));
}

TEST(HookRegistryTest, ErrorsOfTheFactoryAreAnnotated) {
  EXPECT_THAT(create("choosy"),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       AllOf(HasSubstr("\"choosy\""), HasSubstr("every_steps is negative"))));
  EXPECT_THAT(create("forgetful"),
              StatusIs(absl::StatusCode::kInternal, HasSubstr("\"forgetful\"")));
}

TEST(HookRegistryTest, AMissingHookNamesTheNearestAndTheRemedy) {
  EXPECT_THAT(create("plan"),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       AllOf(HasSubstr("\"plan\""), HasSubstr("did you mean \"plain\"?"),
                             HasSubstr("alwayslink = True"))));
  EXPECT_THAT(create("something_else_altogether"),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("Linked in: choosy, forgetful, plain, sink")));
  EXPECT_THAT(create(""), StatusIs(absl::StatusCode::kInvalidArgument));
}

TEST(HookRegistryTest, ListsWhatIsLinkedIn) {
  EXPECT_THAT(
      registered_hooks(),
      ElementsAre(Field(&RegisteredHook::name, "choosy"), Field(&RegisteredHook::name, "forgetful"),
                  Field(&RegisteredHook::name, "plain"), Field(&RegisteredHook::name, "sink")));
  EXPECT_EQ(registered_hooks()[2].description, "does nothing");
  EXPECT_EQ(registered_hooks()[2].preference, OnError::kFail);
  EXPECT_EQ(registered_hooks()[3].preference, OnError::kWarn);
}

TEST(HookRegistryTest, TheConfigurationDecidesWhatErrorsLeadToElseTheHookDoes) {
  HookConfig config;
  config.set_name("plain");
  EXPECT_EQ(on_error_of(config), OnError::kFail);
  config.set_name("sink");
  EXPECT_EQ(on_error_of(config), OnError::kWarn);
  config.set_on_error(HookConfig::DISABLE);
  EXPECT_EQ(on_error_of(config), OnError::kDisable);
  config.set_on_error(HookConfig::FAIL);
  EXPECT_EQ(on_error_of(config), OnError::kFail);
  config.set_name("not_there");
  config.set_on_error(HookConfig::DEFAULT);
  EXPECT_EQ(on_error_of(config), OnError::kFail);
  EXPECT_EQ(on_error_or(HookConfig::WARN, OnError::kFail), OnError::kWarn);
  EXPECT_EQ(on_error_or(HookConfig::DEFAULT, OnError::kDisable), OnError::kDisable);
}

TEST(HookRegistryTest, TwoHooksOfOneNameMakeNone) {
  register_hook("twins", "first", &PlainHook::create);
  register_hook("twins", "second", &PlainHook::create);
  EXPECT_THAT(create("twins"), StatusIs(absl::StatusCode::kInvalidArgument,
                                        AllOf(HasSubstr("registered more than once"),
                                              HasSubstr("hook_registry_test.cc:"))));
}

}  // namespace
}  // namespace millrace
