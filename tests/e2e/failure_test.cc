// Tests the costs of failures, and the exit code of each (docs/exit_codes.md).
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/e2e/program_test.h"
#include "tests/e2e/small_job.h"

namespace millrace {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;
using Json = nlohmann::json;

constexpr int kRows = 200;
constexpr int kSteps = 4;

SmallJob job() {
  return {
      .train_path = "train.csv",
      .eval_path = "eval.csv",
      .dense = {"x"},
      .ids = {"id"},
      .run = "checkpoint { keep_best { metric: \"eval/auc\" } }",
  };
}

class FailureTest : public ProgramTest {
 protected:
  FailureTest() {
    write("job.textproto", small_job(job()));
    write("train.csv", rows(0));
    write("eval.csv", rows(0));
  }

  // Returns CSV rows; the last row has label `last`.
  static std::string rows(int last) {
    std::string text = "label,x,id\n";
    for (int row = 0; row < kRows; ++row) {
      absl::StrAppend(&text, row + 1 < kRows ? row % 3 % 2 : last, ",", row % 7, ",", row % 10,
                      "\n");
    }
    return text;
  }

  ProgramResult train(std::vector<std::string> flags = {}) const {
    flags.insert(flags.begin(), {"train", "job.textproto", "--summary", "s.json"});
    return millrace(std::move(flags));
  }

  // Expects one line that names `what`, and the same line in the summary.
  void expect_failed(const ProgramResult& result, int code, const std::string& what) const {
    EXPECT_EQ(result.exit_code, code) << result.err;
    EXPECT_THAT(result.last_error(), StartsWith("millrace: "));
    EXPECT_THAT(result.last_error(), HasSubstr(what));
    for (const char* raw : {"frame #", "enforce fail", "std::bad_alloc", "unexpected exception"}) {
      EXPECT_THAT(result.err, Not(HasSubstr(raw)));
    }
    const Json summary = read_json("s.json");
    EXPECT_EQ(summary["outcome"], "failed");
    EXPECT_EQ(absl::StrCat("millrace: ", summary["error"].get<std::string>()), result.last_error());
  }

  // Runs `millrace` in bash with a limit, such as "ulimit -v 1000000".
  ProgramResult train_with_limit(const std::string& limit, const std::string& flags) const {
    return run_program({"/bin/bash", "-c",
                        absl::StrCat(limit, "; exec ", millrace_path(),
                                     " train job.textproto --summary s.json ", flags)},
                       {.directory = path("")});
  }

  std::vector<std::string> metrics_of(const std::string& checkpoint) const {
    std::vector<std::string> names;
    const Json manifest = read_json(checkpoint + "/manifest.json");
    for (const Json& metric : manifest.value("metrics", Json::array())) {
      names.push_back(metric["name"]);
    }
    return names;
  }
};

// The failing evaluation runs at the end, after the epoch, or after the last step.
TEST_F(FailureTest, AnEvaluationNeverCostsTheModel) {
  for (const std::string when : {"at_end: true", "every_epochs: 1", "every_steps: 4"}) {
    SCOPED_TRACE(when);
    const std::string output_dir = absl::StrCat("out-", when.substr(0, when.find(':')));
    const std::string last = output_dir + "/checkpoints/step-00000004";
    const std::vector<std::string> flags = {"--output_dir", output_dir, "--set",
                                            absl::StrCat("run.evaluation.when={", when, "}")};
    write("eval.csv", rows(9));
    for (int run = 0; run < 2; ++run) {
      const ProgramResult failed = train(flags);
      expect_failed(failed, kEvaluation, "evaluating \"eval\": eval.csv");
      EXPECT_THAT(failed.last_error(), HasSubstr("training is saved up to step 4 in " + last));
      EXPECT_EQ(read_json("s.json")["checkpoint"], last);
      EXPECT_EQ(read_json("s.json")["steps"], kSteps);
      EXPECT_EQ(newest_checkpoint(output_dir), last);
    }
    write("eval.csv", rows(1));
    const ProgramResult mended = train(flags);
    EXPECT_EQ(mended.exit_code, 0) << mended.err;
    EXPECT_EQ(read_json("s.json")["steps"], kSteps) << "no step is made twice";
    EXPECT_EQ(read_json("s.json")["examples"], kRows);
    EXPECT_EQ(read_json("s.json")["eval_step"]["eval"], kSteps);
    EXPECT_THAT(metrics_of(last), testing::Contains("eval/auc")) << "what keep_best chooses by";
    const ProgramResult again = train(flags);
    EXPECT_THAT(again.out, HasSubstr("finished before"));
  }
}

TEST_F(FailureTest, ASplitWithoutExamplesIsFoundBeforeTheFirstStep) {
  const ProgramResult failed =
      train({"--set", "train.eval_data[0].data.split={ from: 0.9999999 to: 1 }"});
  expect_failed(failed, kUsage,
                "train.eval_data \"eval\": no example of its 200 rows is in the set");
  EXPECT_FALSE(exists("out"));
  EXPECT_EQ(train({"--output_dir", "b", "--set",
                   "train.eval_data[0].data.split={ from: 0.9999999 to: 1 }", "--set",
                   "run.evaluation.enabled=false", "--set", "run.checkpoint.keep_best=[]"})
                .exit_code,
            0);
}

TEST_F(FailureTest, DivergenceHasACodeOfItsOwn) {
  const ProgramResult failed = train({"--set", "train.optimizer.learning_rate=1e30", "--set",
                                      "train.sparse_optimizer.learning_rate=1e30"});
  expect_failed(failed, kDiverged, "lower the learning rate");
}

TEST_F(FailureTest, AnUnknownMetricIsAMistakeInTheConfiguration) {
  const std::vector<std::string> metric = {"--set", "train.metric=[\"auc\", \"loglos\"]"};
  const ProgramResult failed = train(metric);
  expect_failed(failed, kUsage, "train.metric[1]: no metric \"loglos\"");
  EXPECT_FALSE(exists("out"));
  const ProgramResult check = millrace({"config", "check", "job.textproto", metric[0], metric[1]});
  EXPECT_EQ(check.exit_code, kUsage);
  EXPECT_EQ(check.last_error(), failed.last_error());
  EXPECT_EQ(check.out, "");
}

TEST_F(FailureTest, WithoutMemory) {
  // One layer alone is larger than the address space.
  const ProgramResult failed = train_with_limit(
      "ulimit -v 16000000", "--set 'train.model.[millrace.deepfm].hidden=[65536, 65536]'");
  expect_failed(failed, kMachine, "out of memory: 17179869184 bytes were asked for");
  EXPECT_FALSE(exists("out"));
}

// The model fits into the address space, its gradients and optimizer state do not.
TEST_F(FailureTest, WithoutMemoryInAStep) {
  const ProgramResult failed = train_with_limit(
      "ulimit -v 1500000", "--set 'train.model.[millrace.deepfm].hidden=[8192, 8192]'");
  expect_failed(failed, kMachine, "out of memory");
  EXPECT_THAT(failed.err, testing::ContainsRegex("dense parameters +25[0-9.]+ MiB"));
  for (const char* part : {"table id", "everything else", "To need less: more ranks"}) {
    EXPECT_THAT(failed.err, testing::HasSubstr(part));
  }
}

// The stacks of threads do not fit into the address space.
TEST_F(FailureTest, WithoutThreads) {
  const ProgramResult failed =
      train_with_limit("ulimit -s 8192; ulimit -v 6000000", "--threads 1000");
  expect_failed(failed, kMachine, "run.threads: 1000: the system starts no more threads");
  EXPECT_FALSE(exists("out"));
}

TEST_F(FailureTest, ATableThatIsFullIsALimitOfTheConfiguration) {
  const ProgramResult failed =
      train({"--set", "train.table[0].limit={ max_rows: 5 on_full: FAIL }"});
  expect_failed(failed, kUsage, "table id has ");
}

}  // namespace
}  // namespace millrace
