// Tests the MovieLens example on the real data, if the machine has the data.
#include <filesystem>
#include <string>
#include <vector>

#include "tests/e2e/program_test.h"
#include "tests/environment/skip.h"
#include "tests/io_testing/data_files.h"

namespace millrace {
namespace {

using Json = nlohmann::json;

class MovieLensTest : public ProgramTest {
 protected:
  void SetUp() override {
    const std::string data = real_data_dir();
    if (data.empty() || !std::filesystem::exists(data + "/ml-100k/ml-100k.inter")) {
      GTEST_SKIP() << skip_not_provided("MILLRACE_DATA", "no real data");
    }
    file_ = std::filesystem::absolute(data).string() + "/ml-100k/ml-100k.inter";
  }

  // Runs the example's program with its configuration.
  ProgramResult movielens(std::vector<std::string> arguments) const {
    arguments.insert(arguments.begin(),
                     std::filesystem::absolute("examples/movielens/movielens").string());
    return run_program(std::move(arguments),
                       {.directory = path("."), .timeout = std::chrono::seconds(55)});
  }

  std::string file_;
};

TEST_F(MovieLensTest, LearnsWhatIsLiked) {
  const ProgramResult result = movielens({"train", "--train_data", file_, "--eval_data", file_,
                                          "--threads", "1", "--set", "train.max_epochs=3"});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  const Json summary = read_json("out/movielens/summary.json");
  EXPECT_EQ(summary["outcome"], "completed");
  EXPECT_EQ(summary["rows"]["user"], 943);
  EXPECT_LE(summary["rows"]["item"], 1682);
  EXPECT_GT(summary["rows"]["item"], 1600);
  EXPECT_GT(summary["eval"]["auc"], 0.77);
  // The two parts together have all 100,000 ratings.
  const int64_t evaluated =
      read_json_lines("out/movielens/metrics/eval.jsonl").at(0)["evaluated_examples"];
  const int64_t trained = summary["examples"].get<int64_t>() / summary["epochs"].get<int64_t>();
  EXPECT_EQ(trained + evaluated, 100000);
  EXPECT_NEAR(evaluated, 10000, 400);
  // The hook of the example: 55.4 % of the ratings are 4 or 5.
  const std::vector<Json> reports = read_json_lines("out/movielens/metrics/train.jsonl");
  ASSERT_FALSE(reports.empty());
  for (const Json& report : reports) {
    EXPECT_NEAR(report["values"]["positive_share"], 0.554, 0.03);
  }
}

TEST_F(MovieLensTest, ARatingThatIsNoNumberIsNamed) {
  write("bad.inter",
        "user_id:token\titem_id:token\trating:float\ttimestamp:float\n"
        "1\t2\tgood\t881250949\n");
  const ProgramResult result =
      movielens({"train", "--train_data", "bad.inter", "--eval_data", file_});
  EXPECT_EQ(result.exit_code, 65);
  EXPECT_NE(result.last_error().find("bad.inter, line 2, column rating: \"good\" is not a number"),
            std::string::npos)
      << result.err;
}

}  // namespace
}  // namespace millrace
