// Tests the Criteo examples on the real data, if the machine has the data.
#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/e2e/program_test.h"
#include "tests/environment/skip.h"
#include "tests/io_testing/data_files.h"

namespace millrace {
namespace {

using Json = nlohmann::json;

class RealDataTest : public ProgramTest {
 protected:
  void SetUp() override {
    const std::string data = real_data_dir();
    if (data.empty() || !std::filesystem::exists(data + "/criteo_orc/part-5.orc")) {
      GTEST_SKIP() << skip_not_provided("MILLRACE_DATA", "no real data");
    }
    data_ = std::filesystem::absolute(data).string() + "/criteo_orc";
  }

  // Trains examples/criteo/<name>.textproto on the first two files. Returns the summary.
  Json train(const std::string& name, std::vector<std::string> flags) {
    const std::string config =
        std::filesystem::absolute("examples/criteo/" + name + ".textproto").string();
    flags.insert(flags.begin(), {"train", config, "--train_data", data_ + "/part-[01].orc",
                                 "--eval_data", data_ + "/part-5.orc", "--output_dir", "out"});
    millrace_ok(std::move(flags), std::chrono::seconds(55));
    return read_json("out/summary.json");
  }

  std::string data_;
};

TEST_F(RealDataTest, DeepFmLearns) {
  const Json summary = train("deepfm", {});
  EXPECT_EQ(summary["outcome"], "completed");
  EXPECT_EQ(summary["examples"], 20000);
  EXPECT_EQ(read_json_lines("out/metrics/eval.jsonl").at(0)["evaluated_examples"], 10000);
  EXPECT_GT(summary["eval"]["auc"], 0.6);
}

TEST_F(RealDataTest, DlrmSteps) {
  const Json summary = train("dlrm", {"--max_steps", "3"});
  EXPECT_EQ(summary["outcome"], "completed");
  EXPECT_EQ(summary["steps"], 3);
  EXPECT_EQ(summary["examples"], 3 * 512);
  EXPECT_GT(summary["eval"]["loss"], 0);
}

}  // namespace
}  // namespace millrace
