#include "job/evaluation_cadence.h"

#include <gtest/gtest.h>

#include <string>

#include "base/status_matchers.h"
#include "proto/config_reader.h"

namespace millrace {
namespace {

std::string cadence(const std::string& config, const std::string& set) {
  EvaluationConfig evaluation;
  EXPECT_OK(parse_text(config, "test", &evaluation));
  return evaluation_cadence(evaluation, set).to_string();
}

TEST(EvaluationCadenceTest, ByDefaultAtTheEnd) { EXPECT_EQ(cadence("", "eval"), "at end"); }

TEST(EvaluationCadenceTest, SetsWithoutAnEntryFollowTheCommonCadence) {
  const std::string config =
      "when { every_steps: 10 } set { name: 'slow' when { every_epochs: 2 } }";
  EXPECT_EQ(cadence(config, "eval"), "every 10 steps");
  EXPECT_EQ(cadence(config, "slow"), "every 2 epochs");
}

TEST(EvaluationCadenceTest, AnEntryReplacesTheCommonCadence) {
  EXPECT_EQ(cadence("set { name: 'slow' when { every_steps: 5 } }", "slow"), "every 5 steps")
      << "not at the end too";
  EXPECT_EQ(cadence("when { every_steps: 10 } set { name: 'slow' when {} }", "slow"),
            cadence("when {}", "slow"))
      << "never";
}

}  // namespace
}  // namespace millrace
