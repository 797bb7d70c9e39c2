#include "distributed/environment/environment_variables.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <string>

#include "base/status_matchers.h"

namespace millrace {
namespace {

using ::testing::HasSubstr;

// Returns a reader of an environment in which only `name` is set.
GetVariable only(const std::string& name, const std::string& value) {
  return [=](const char* asked) -> std::optional<std::string> {
    if (asked == name) return value;
    return std::nullopt;
  };
}

TEST(EnvironmentVariablesTest, TheSecondVariableIsReadIfTheFirstIsNotSet) {
  ASSERT_OK_AND_ASSIGN(std::optional<VariableNumber> number,
                       read_number(only("SECOND", "7"), "FIRST", "SECOND"));
  ASSERT_TRUE(number);
  EXPECT_EQ(number->value, 7);
  EXPECT_STREQ(number->variable, "SECOND");
  ASSERT_OK_AND_ASSIGN(number, read_number(only("SECOND", "7"), "FIRST"));
  EXPECT_FALSE(number);
  EXPECT_THAT(read_number(only("SECOND", "7x"), "FIRST", "SECOND"),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("SECOND is \"7x\"")));
}

TEST(EnvironmentVariablesTest, AnOptionalNumberKeepsItsDefault) {
  int value = 5;
  EXPECT_OK(read_optional_number(only("OTHER", "1"), "NAME", nullptr, 0, &value));
  EXPECT_EQ(value, 5);
  EXPECT_OK(read_optional_number(only("NAME", "0"), "NAME", nullptr, 0, &value));
  EXPECT_EQ(value, 0);
  EXPECT_THAT(read_optional_number(only("NAME", "0"), "NAME", nullptr, 1, &value),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("NAME is \"0\"; expected is a number of at least 1")));
}

TEST(EnvironmentVariablesTest, MasterAddress) {
  const GetVariable both = [](const char* name) -> std::optional<std::string> {
    return std::string(name) == "HOST" ? " node7\n" : "65535";
  };
  ASSERT_OK_AND_ASSIGN(MasterAddress master, read_master_address(both, "HOST", "PORT"));
  EXPECT_EQ(master.host, "node7");
  EXPECT_EQ(master.port, 65535);
  EXPECT_THAT(read_master_address(only("HOST", "a"), "HOST", "PORT"),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("PORT is not set")));
}

TEST(EnvironmentVariablesTest, VariablesOfTheProcess) {
  ::setenv("MILLRACE_TEST_VARIABLE", "", 1);
  EXPECT_EQ(process_variable("MILLRACE_TEST_VARIABLE"), "");
  ::unsetenv("MILLRACE_TEST_VARIABLE");
  EXPECT_EQ(process_variable("MILLRACE_TEST_VARIABLE"), std::nullopt);
}

}  // namespace
}  // namespace millrace
