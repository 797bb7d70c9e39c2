#include "tools/usage/whole_numbers.h"

#include <gtest/gtest.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace millrace {
namespace {

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
