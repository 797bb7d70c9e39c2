// Tests `millrace train` with the hook early_stopping.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "base/status_matchers.h"
#include "tests/e2e/program_test.h"
#include "tests/e2e/small_job.h"
#include "tests/io_testing/data_files.h"

namespace millrace {
namespace {

using ::testing::AllOf;
using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using Json = nlohmann::json;

// A job that would train for 2000 steps of 50 examples.
class EarlyStoppingTest : public ProgramTest {
 protected:
  EarlyStoppingTest() {
    EXPECT_OK(write_data_file(criteo_like_table(1000, 1, 1), DataConfig::PARQUET, 300,
                              path("data.parquet")));
    write_job("monitor: 'eval/loss' min_change: 10");
  }
  void write_job(const std::string& early_stopping) const {
    SmallJob job;
    job.train_path = job.eval_path = "data.parquet";
    job.train = "max_epochs: 100 hooks { name: 'early_stopping' [millrace.early_stopping] { " +
                early_stopping + " } }";
    job.run = "evaluation { when { every_steps: 5 } }";
    write("job.textproto", small_job(job));
  }
  // Expects that `train` and `config check` refuse the job with this text, before any output.
  void expect_refused(const std::string& early_stopping, const std::string& what) const {
    write_job(early_stopping);
    for (const std::vector<std::string>& command :
         {std::vector<std::string>{"train", "job.textproto"},
          {"config", "check", "job.textproto"}}) {
      const ProgramResult result = millrace(command);
      EXPECT_EQ(result.exit_code, kUsage) << result.err;
      EXPECT_THAT(result.last_error(), HasSubstr(what));
    }
    EXPECT_FALSE(exists("out"));
  }
};

TEST_F(EarlyStoppingTest, EndsTrainingWithTheReasonAndACheckpoint) {
  millrace_ok({"config", "check", "job.textproto"});
  const ProgramResult result = millrace_ok({"train", "job.textproto"});
  const std::string reason =
      "early stopping: eval/loss has not improved on [0-9.]+ .step 5. by more than 10 in 3 "
      "evaluations";
  EXPECT_THAT(result.out, ContainsRegex("stopped .*" + reason));
  EXPECT_THAT(result.err, ContainsRegex("stopping: " + reason));
  const Json summary = read_json("out/summary.json");
  EXPECT_EQ(summary["outcome"], "stopped");
  EXPECT_EQ(summary["steps"], 20);
  EXPECT_THAT(summary["stop_reason"].get<std::string>(), ContainsRegex("^" + reason + "$"));
  EXPECT_EQ(summary["checkpoint"], "out/checkpoints/step-00000020");
}

TEST_F(EarlyStoppingTest, AStoppedRunIsFinished) {
  millrace_ok({"train", "job.textproto"});
  const std::string content = content_of("out");
  const ProgramResult again = millrace_ok({"train", "job.textproto"});
  EXPECT_THAT(again.out, HasSubstr("finished before"));
  EXPECT_EQ(content_of("out"), content);
}

TEST_F(EarlyStoppingTest, ARunThatIsContinuedStopsWhereAnUnbrokenOneDoes) {
  millrace_ok({"train", "job.textproto"});
  for (const char* steps : {"4", "5", "9", "10", "15", "19"}) {
    const std::string out = std::string("out") + steps;
    millrace_ok({"train", "job.textproto", "--output_dir", out, "--max_steps", steps});
    millrace_ok({"train", "job.textproto", "--output_dir", out});
    EXPECT_EQ(read_json(out + "/summary.json")["stop_reason"],
              read_json("out/summary.json")["stop_reason"]);
    EXPECT_EQ(content_of(out), content_of("out")) << "interrupted after step " << steps;
  }
}

TEST_F(EarlyStoppingTest, AMonitorThatNobodyReportsIsRefused) {
  expect_refused("monitor: 'eval/acu' mode: MAX",
                 "train.hooks[0] \"early_stopping\": monitor \"eval/acu\": no evaluation or report "
                 "gives this metric; did you mean \"eval/auc\"?");
  expect_refused("monitor: 'eval/auc' patience: 0", "patience is 0; must be at least 1");
  expect_refused("monitor: 'eval/calibration'", "mode is missing");
}

}  // namespace
}  // namespace millrace
