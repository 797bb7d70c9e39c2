#include "tools/usage/command_line.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace millrace {
namespace {

using ::testing::AllOf;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

// Returns the explanation for a command line of a small program; an empty message if valid.
UsageError explain(const std::vector<std::string>& arguments) {
  CLI::App program("test", "prog");
  program.require_subcommand(1);
  std::string config, summary;
  int steps = 0;
  CLI::App* train = program.add_subcommand("train", "trains");
  train->add_option("config", config)->required();
  train->add_option("--summary", summary);
  train->add_option("--max_steps", steps);
  CLI::App* look = program.add_subcommand("config", "looks");
  look->require_subcommand(1);
  look->add_subcommand("check", "checks");
  CLI::App* launch = program.add_subcommand("launch", "starts ranks");
  int restarts = 0;
  std::vector<std::string> command;
  launch->add_option("--max_restarts", restarts);
  launch->add_option("command", command);
  try {
    program.parse(std::vector<std::string>(arguments.rbegin(), arguments.rend()));  // last first
  } catch (const CLI::ParseError& error) {
    return explain_usage_error(program, error, arguments);
  }
  return {};
}

TEST(UsageErrorTest, ARightLineHasNone) { EXPECT_EQ(explain({"train", "job"}).message, ""); }

TEST(UsageErrorTest, UnknownCommandsNameTheNearest) {
  EXPECT_THAT(explain({"trian", "job"}).message,
              AllOf(HasSubstr("no command trian"), HasSubstr("did you mean \"train\"?"),
                    EndsWith("see prog --help")));
  EXPECT_THAT(explain({"bogus"}).message,
              AllOf(HasSubstr("bogus"), HasSubstr("train, config, launch")));
  EXPECT_THAT(explain({"config", "chek"}).message,
              AllOf(HasSubstr("no command chek"), HasSubstr("\"check\""),
                    EndsWith("see prog config --help")));
}

TEST(UsageErrorTest, UnknownFlagsNameTheNearest) {
  for (const std::string flag : {"--max_step", "--max_step=3"}) {
    EXPECT_THAT(explain({"train", "job", flag}).message,
                AllOf(StartsWith("there is no flag --max_step;"), HasSubstr("--max_steps"),
                      EndsWith("see prog train --help")));
  }
}

TEST(UsageErrorTest, AForgottenSeparatorOfLaunchIsExplained) {
  EXPECT_THAT(explain({"launch", "train", "job", "--set", "a=1"}).message,
              AllOf(StartsWith("there is no flag --set;"), HasSubstr("-- train CONFIG --set")));
  EXPECT_THAT(explain({"launch", "--max_restart", "3", "--", "train", "job"}).message,
              AllOf(StartsWith("there is no flag --max_restart;"), HasSubstr("--max_restarts"),
                    Not(HasSubstr("go behind"))));
  EXPECT_EQ(explain({"launch", "--", "train", "job", "--set", "a=1"}).message, "");
}

TEST(UsageErrorTest, WhatElseTheParserSays) {
  EXPECT_THAT(explain({}).message, HasSubstr("subcommand"));
  EXPECT_THAT(explain({"config"}).message, HasSubstr("subcommand"));
  EXPECT_THAT(explain({"train"}).message, HasSubstr("config is required"));
  EXPECT_THAT(explain({"train", "job", "--max_steps"}).message, HasSubstr("--max_steps"));
  EXPECT_THAT(explain({"train", "job", "--max_steps", "x"}).message, HasSubstr("--max_steps"));
  EXPECT_THAT(explain({"train", "job", "second"}).message, HasSubstr("second"));
  EXPECT_THAT(explain({"train", "a\nb", "--x\ny"}).message, Not(HasSubstr("--help\n")));
}

TEST(UsageErrorTest, FindsWhereTheSummaryGoes) {
  EXPECT_EQ(explain({"train", "job", "--bogus", "--summary", "s.json"}).summary, "s.json");
  EXPECT_EQ(explain({"train", "job", "--summary=s.json", "--bogus"}).summary, "s.json");
  EXPECT_EQ(explain({"train", "job", "--bogus"}).summary, "");
  EXPECT_EQ(explain({"train", "job", "--summary"}).summary, "");
  EXPECT_EQ(explain({"config", "--summary", "s.json"}).summary, "");  // has no such flag
}

class WholeNumbersTest : public testing::Test {
 protected:
  void parse(const std::string& flag, const std::string& text) {
    CLI::App app("test");
    CLI::App* command = app.add_subcommand("train");
    command->add_option("--steps", steps_);
    command->add_option("--seed", seed_);
    command->add_option("--threads", threads_);
    command->add_option("--rate", rate_);
    read_whole_numbers_strictly(app);
    std::vector<std::string> arguments = {"train", flag, text};
    std::reverse(arguments.begin(), arguments.end());  // as CLI11 wants them
    app.parse(arguments);
  }
  // Returns: the error message.
  std::string refuse(const std::string& flag, const std::string& text) {
    try {
      parse(flag, text);
    } catch (const CLI::ParseError& error) {
      return error.what();
    }
    return "taken";
  }

  std::optional<int64_t> steps_;
  std::optional<uint64_t> seed_;
  int threads_ = 1;
  double rate_ = 0;
};

TEST_F(WholeNumbersTest, AreDecimal) {
  parse("--steps", "010");
  EXPECT_EQ(steps_, 10);
  parse("--steps", "-7");
  EXPECT_EQ(steps_, -7);
  parse("--threads", "+08");
  EXPECT_EQ(threads_, 8);
  parse("--steps", "9223372036854775807");
  EXPECT_EQ(steps_, INT64_MAX);
  parse("--seed", "18446744073709551615");
  EXPECT_EQ(seed_, UINT64_MAX);
}

TEST_F(WholeNumbersTest, BeyondTheirBitsAreRefused) {
  EXPECT_EQ(refuse("--steps", "9223372036854775808"),
            "--steps: 9223372036854775808 is out of range; it must be -9223372036854775808 to "
            "9223372036854775807");
  EXPECT_EQ(refuse("--seed", "18446744073709551616"),
            "--seed: 18446744073709551616 is out of range; it must be 0 to 18446744073709551615");
  EXPECT_NE(refuse("--threads", "4294967297"), "taken");
}

TEST_F(WholeNumbersTest, OtherTextsAreRefusedAsBefore) {
  EXPECT_EQ(refuse("--steps", "many"), "Could not convert: --steps = many");
  EXPECT_EQ(refuse("--steps", "1.5"), "Could not convert: --steps = 1.5");
  parse("--rate", "010.5");
  EXPECT_EQ(rate_, 10.5);
}

}  // namespace
}  // namespace millrace
