// Tests the daily example: kills the job once, continues it, and lets MLPerf's checker read its
// log.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "tests/e2e/program_test.h"
#include "tests/environment/skip.h"

namespace millrace {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using Json = nlohmann::json;

class DailyExampleTest : public ProgramTest {
 protected:
  void SetUp() override {
    const ProgramResult made =
        run_program({"/usr/bin/env", "python3", folder_ + "/produce.py"}, {.directory = path("")});
    ASSERT_EQ(made.exit_code, 0) << made.err;
  }
  std::vector<std::string> train(const std::string& output_dir) const {
    return {"train", folder_ + "/daily.textproto",           "--threads", "1",
            "--set", "run.output_dir=\"" + output_dir + "\""};
  }
  // Returns the keys of the lines of the log, in their order.
  std::vector<std::string> keys(const std::string& log) const {
    std::vector<std::string> keys;
    std::istringstream lines(read(log));
    for (std::string line; std::getline(lines, line);) {
      keys.push_back(Json::parse(line.substr(line.find('{')))["key"]);
    }
    return keys;
  }
  const std::string folder_ = std::filesystem::absolute("examples/daily").string();
};

TEST_F(DailyExampleTest, AKilledRunEndsAsAnUndisturbedOne) {
  const ProgramResult whole = millrace_ok(train("out/whole"), std::chrono::seconds(50));
  EXPECT_THAT(whole.out, HasSubstr("completed: 140 steps, 70000 examples"));
  const std::vector<Json> evaluations = read_json_lines("out/whole/metrics/eval.jsonl");
  ASSERT_EQ(evaluations.size(), 7);
  EXPECT_GT(evaluations.back()["metrics"]["auc"], 0.65) << "of a day that comes after";

  std::vector<std::string> arguments = train("out/killed");
  arguments.insert(arguments.begin(), millrace_path());
  RunningProgram program(arguments, {.directory = path("."), .timeout = std::chrono::seconds(50)});
  ASSERT_TRUE(program.wait_for("saved out/killed/checkpoints"));
  program.send(SIGKILL);
  EXPECT_EQ(program.finish().exit_code, -SIGKILL);
  millrace_ok(train("out/killed"), std::chrono::seconds(50));
  EXPECT_EQ(content_of("out/killed"), content_of("out/whole"));
  EXPECT_EQ(read_json_lines("out/killed/metrics/eval.jsonl").size(), 7);
  EXPECT_EQ(keys("out/killed/mllog.txt"), keys("out/whole/mllog.txt"));
}

// Returns the keys that the rules of the benchmark fix for its data and its size.
const std::set<std::string>& keys_of_the_data() {
  static const auto* keys = new std::set<std::string>{
      "train_samples", "eval_samples", "opt_base_learning_rate", "opt_sparse_base_learning_rate"};
  return *keys;
}

// The rules of the benchmark, also of its open division, fix the number of examples and a band of
// learning rates, so no log of other data is accepted.
TEST_F(DailyExampleTest, TheComplianceCheckerRefusesOnlyWhatTheRulesFix) {
  if (std::getenv("MILLRACE_TEST_PYTHON") == nullptr) {
    GTEST_SKIP() << skip_not_provided("MILLRACE_TEST_PYTHON", "./bazelw test_setup provides it");
  }
  millrace_ok(train("out/daily"), std::chrono::seconds(50));
  const ProgramResult result =
      run_program({std::getenv("MILLRACE_TEST_PYTHON"), "-m", "mlperf_logging.compliance_checker",
                   "--usage", "training", "--ruleset", "6.1.0", "out/daily/mllog.txt"},
                  {.directory = path("")});
  const std::string text = result.out + result.err;
  const std::string check = "CHECK for '", wrong = "' failed";
  std::set<std::string> refused;
  for (size_t at = text.find(check); at != text.npos; at = text.find(check, at + 1)) {
    const size_t begin = at + check.size();
    refused.insert(text.substr(begin, text.find(wrong, begin) - begin));
  }
  EXPECT_EQ(refused, keys_of_the_data()) << text;
  EXPECT_THAT(text, Not(HasSubstr("occurrence"))) << "each required line is there";
}

TEST(PreferencesExampleTest, AModelAges) {
  const std::string script = std::filesystem::absolute("examples/daily/preferences.py").string();
  const auto call = [&](std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), {"/usr/bin/env", "python3", script});
    arguments.insert(arguments.end(), {"--directory", testing::TempDir() + "/preferences",
                                       "--steps", "5", "--rows", "4000", "--users", "200"});
    return run_program(arguments, {.timeout = std::chrono::seconds(50)});
  };
  ASSERT_EQ(call({"generate"}).exit_code, 0);
  const ProgramResult result = call({"age", "--ages", "0", "2", "--millrace", millrace_path()});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  std::ifstream file(testing::TempDir() + "/preferences/age.json");
  const Json age = Json::parse(file);
  EXPECT_GT(age["ages"]["0"]["auc"], age["ages"]["2"]["auc"]);
  EXPECT_GT(age["best"]["auc"], age["ages"]["0"]["auc"]);
  EXPECT_LT(age["best"]["ne"], age["ages"]["0"]["ne"]);
}

}  // namespace
}  // namespace millrace
