#include "proto/config_durations.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/status_matchers.h"
#include "proto/config_reader.h"

namespace millrace {
namespace {

using ::testing::HasSubstr;

constexpr absl::StatusCode kInvalid = absl::StatusCode::kInvalidArgument;

JobConfig config_of(const std::string& text) {
  JobConfig config;
  EXPECT_OK(parse_text(text, "test", &config));
  return config;
}

TEST(ConfigDurationsTest, TextBecomesSeconds) {
  JobConfig config = config_of(R"(
      train { max_duration: "2h30m" max_evaluation_duration: "1.5s"
              train_data { windows { idle_duration: "500ms" } }
              table { name: "t" eviction { idle_duration: "720h" } } }
      run { checkpoint { when { every_duration: "90s" after_duration: "0" } }
            evaluation { set { name: "e" when { every_duration: "1h" } } } })");
  ASSERT_OK(use_durations("", &config));
  EXPECT_EQ(config.train().max_seconds(), 9000);
  EXPECT_EQ(config.train().max_evaluation_seconds(), 1.5);
  EXPECT_EQ(config.train().train_data().windows().idle_seconds(), 0.5);
  EXPECT_EQ(config.train().table(0).eviction().idle_seconds(), 720 * 3600);
  EXPECT_EQ(config.run().checkpoint().when().every_seconds(), 90);
  EXPECT_TRUE(config.run().checkpoint().when().has_after_seconds());
  EXPECT_EQ(config.run().evaluation().set(0).when().every_seconds(), 3600);
  const std::string text = to_text(config);
  EXPECT_THAT(text, testing::Not(HasSubstr("duration")));
  ASSERT_OK(use_durations("", &config));
  EXPECT_EQ(to_text(config), text);
}

TEST(ConfigDurationsTest, Mistakes) {
  for (const auto& [text, error] : std::vector<std::pair<std::string, std::string>>{
           {R"(train { max_duration: "2 hours" })",
            "train.max_duration: \"2 hours\" is no duration"},
           {R"(train { max_duration: "7" })", "is no duration; write one such as 90s"},
           {R"(train { max_duration: "1d" })", "is no duration"},
           {R"(train { max_duration: "" })", "is no duration"},
           {R"(train { max_duration: "-1s" })", "\"-1s\" is negative"},
           {R"(train { max_duration: "9000000000000000000h" })", "is too long"},
           {R"(train { max_duration: "inf" })", "is too long"},
           {R"(train { max_duration: "1s" max_seconds: 1 })",
            "train.max_duration: max_seconds is set, too"},
           {R"(run { evaluation { set { when { every_duration: "x" } } } })",
            "run.evaluation.set[0].when.every_duration: "}}) {
    JobConfig config = config_of(text);
    EXPECT_THAT(use_durations("", &config), StatusIs(kInvalid, HasSubstr(error))) << text;
  }
}

}  // namespace
}  // namespace millrace
