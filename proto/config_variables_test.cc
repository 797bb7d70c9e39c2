#include "proto/config_variables.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <string>

#include "base/status_matchers.h"
#include "proto/config_reader.h"
#include "proto/message_differences.h"

namespace millrace {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr absl::StatusCode kInvalid = absl::StatusCode::kInvalidArgument;

class ConfigVariablesTest : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_EQ(setenv("MILLRACE_TEST_A", "a value", 1), 0);
    ASSERT_EQ(setenv("MILLRACE_TEST_EMPTY", "", 1), 0);
    ASSERT_EQ(setenv("MILLRACE_TEST_NESTED", "${env:HOME}", 1), 0);
    ASSERT_EQ(setenv("MILLRACE_TEST_BYTES", "\xff", 1), 0);
    ASSERT_EQ(unsetenv("MILLRACE_TEST_B"), 0);
  }
};

TEST_F(ConfigVariablesTest, EnvironmentInText) {
  struct Case {
    std::string text, expected, error = "";
  };
  for (const Case& c : {
           Case{"${env:MILLRACE_TEST_A}", "a value"},
           Case{"x${env:MILLRACE_TEST_A}y${env:MILLRACE_TEST_B:z:0}", "xa valueyz:0"},
           Case{"${env:MILLRACE_TEST_EMPTY:default}", ""},
           Case{"${env:MILLRACE_TEST_B:}", ""},
           Case{"${HOME} $HOME {} ${secret:MILLRACE_TEST_B}",
                "${HOME} $HOME {} ${secret:MILLRACE_TEST_B}"},
           Case{"${env:MILLRACE_TEST_B}", "",
                "the environment variable MILLRACE_TEST_B is not set; set it, or write "
                "${env:MILLRACE_TEST_B:DEFAULT}"},
           Case{"${env:MILLRACE_TEST_A", "", "has no closing brace; write ${env:NAME}"},
           Case{"${env:}", "", "\"\" is no name of a variable"},
           Case{"${env:1A}", "", "\"1A\" is no name of a variable"},
           Case{"${env: A}", "", "\" A\" is no name of a variable"},
           Case{"${env:MILLRACE_TEST_NESTED}", "", "MILLRACE_TEST_NESTED holds ${env:"},
           Case{"${env:MILLRACE_TEST_BYTES}", "", "MILLRACE_TEST_BYTES is not UTF-8"},
       }) {
    std::string text = c.text;
    const absl::Status status = expand_environment(&text);
    if (c.error.empty()) {
      EXPECT_OK(status) << c.text;
      EXPECT_EQ(text, c.expected) << c.text;
    } else {
      EXPECT_THAT(status, StatusIs(kInvalid, HasSubstr(c.error))) << c.text;
    }
  }
}

TEST_F(ConfigVariablesTest, EveryStringOfAConfiguration) {
  JobConfig config;
  ASSERT_OK(parse_text(R"(train { train_data { path: ["a", "${env:MILLRACE_TEST_A}/b"] }
                                  feature { name: "${env:MILLRACE_TEST_A}" } }
                          run { output_dir: "${env:MILLRACE_TEST_B:out}" })",
                       "test", &config));
  ASSERT_OK(expand_environment(&config));
  EXPECT_EQ(config.train().train_data().path(1), "a value/b");
  EXPECT_EQ(config.train().feature(0).name(), "a value");
  EXPECT_EQ(config.run().output_dir(), "out");
  config.mutable_train()->add_feature()->set_column("${env:MILLRACE_TEST_B}");
  EXPECT_THAT(expand_environment(&config),
              StatusIs(kInvalid, HasSubstr("train.feature[1].column: the environment variable ")));
}

TEST_F(ConfigVariablesTest, SecretsStayUntilAPartIsMade) {
  JobConfig config;
  ASSERT_OK(
      parse_text(R"(run { hooks { name: "h" plugin { config: "${secret:MILLRACE_TEST_A}" } } })",
                 "test", &config));
  ASSERT_OK(expand_environment(&config));
  EXPECT_OK(check_places_of_secrets(config));
  const HookConfig& hook = config.run().hooks(0);
  EXPECT_EQ(hook.plugin().config(), "${secret:MILLRACE_TEST_A}");
  ASSERT_OK_AND_ASSIGN(const HookConfig resolved, with_secrets("run.hooks[0]", hook));
  EXPECT_EQ(resolved.plugin().config(), "a value");

  ASSERT_EQ(unsetenv("MILLRACE_TEST_A"), 0);
  EXPECT_THAT(with_secrets("run.hooks[0]", hook),
              StatusIs(kInvalid,
                       "run.hooks[0].plugin.config: the environment variable "
                       "MILLRACE_TEST_A is not set; set it"));
  config.mutable_run()->set_output_dir("${secret:MILLRACE_TEST_A}");
  EXPECT_THAT(
      check_places_of_secrets(config),
      StatusIs(kInvalid, HasSubstr("run.output_dir: ${secret:MILLRACE_TEST_A} is written")));
}

TEST(MessageDifferencesTest, ALineForEachFieldOfBothParts) {
  JobConfig a, b;
  ASSERT_OK(parse_text(R"(train { max_steps: 5 max_epochs: 1 feature { name: "u" } }
                          run { output_dir: "one" })",
                       "a", &a));
  ASSERT_OK(parse_text(R"(train { feature { name: "u" kind: DENSE } feature { name: "v" } }
                          run { output_dir: "two" })",
                       "b", &b));
  clear_defaults(a);
  clear_defaults(b);
  EXPECT_THAT(
      message_differences(a, b),
      ElementsAre("train.feature[u].kind: SPARSE → DENSE", "train.feature[v]: not there → there",
                  "train.max_steps: 5 → 0", "run.output_dir: \"one\" → \"two\""));
  EXPECT_THAT(message_differences(a, a), ElementsAre());
}

}  // namespace
}  // namespace millrace
