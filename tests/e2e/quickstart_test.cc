// Tests the quick start of the README at full size.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdio>
#include <filesystem>
#include <string>

#include "tests/e2e/program_test.h"

namespace millrace {
namespace {

using ::testing::HasSubstr;
using Json = nlohmann::json;

class QuickstartTest : public ProgramTest {
 protected:
  const std::string config_ = std::filesystem::absolute("examples/quickstart.textproto").string();

  ProgramResult quickstart(std::vector<std::string> flags) {
    flags.insert(flags.begin(), {"train", config_, "--output_dir", "out", "--set",
                                 "train.generated_data.directory=data"});
    return millrace_ok(std::move(flags), std::chrono::seconds(55));
  }
};

TEST_F(QuickstartTest, ComesWithinTwoHundredthsOfTheBestPossibleAuc) {
  const ProgramResult result = quickstart({});
  const std::string words = "the best AUC anyone can reach on them is ";
  ASSERT_THAT(result.err, HasSubstr(words));
  const double best = std::stod(result.err.substr(result.err.find(words) + words.size()));
  EXPECT_GT(best, 0.7);
  EXPECT_LT(best, 0.95);
  const Json summary = read_json("out/summary.json");
  EXPECT_EQ(summary["outcome"], "completed");
  EXPECT_EQ(summary["examples"], 200000);
  EXPECT_GE(summary["eval"]["auc"], best - 0.02);
  EXPECT_LE(summary["eval"]["auc"], best + 0.01);
  std::printf("best %.4f, reached %.4f\n", best, summary["eval"]["auc"].get<double>());
}

TEST_F(QuickstartTest, DataIsMadeOnceForOneSetOfOptions) {
  const std::string part = "data/part-0.parquet";
  const auto rows = [](int count) {
    return "train.generated_data={ directory: \"data\" eval_rows: 50 rows: " +
           std::to_string(count) + " }";
  };
  quickstart({"--set", rows(200)});
  const std::string first = read(part);
  write("data/part-9.parquet", "not of this data set, not read");
  const auto written = std::filesystem::last_write_time(path(part));
  quickstart({"--set", rows(200)});
  EXPECT_EQ(std::filesystem::last_write_time(path(part)), written);
  EXPECT_EQ(read_json("out/summary.json")["examples"], 200);
  std::filesystem::remove_all(path("out"));  // another job
  quickstart({"--set", rows(300)});
  EXPECT_NE(read(part), first);
  EXPECT_EQ(read_json("out/summary.json")["examples"], 300);
}

}  // namespace
}  // namespace millrace
