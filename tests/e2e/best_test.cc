// Tests evaluation sets with separate metrics and cadences, and the best score, as programs.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/status_matchers.h"
#include "tests/e2e/program_test.h"
#include "tests/e2e/small_job.h"
#include "tests/io_testing/data_files.h"

namespace millrace {
namespace {

using ::testing::AllOf;
using ::testing::ContainsRegex;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using Json = nlohmann::json;

constexpr char kBest[] =
    "best { term { monitor: 'eval/calibration' } term { monitor: 'late/mean' weight: 3 } "
    "higher_is_better: true } ";

// A job of 40 steps. "eval" is evaluated every 5 steps, "late" every 10 steps with another metric.
class BestTest : public ProgramTest {
 protected:
  BestTest() {
    EXPECT_OK(write_data_file(criteo_like_table(1000, 1, 1), DataConfig::PARQUET, 300,
                              path("data.parquet")));
    write_job(kBest);
  }
  void write_job(const std::string& best, const std::string& run = "") const {
    SmallJob job;
    job.train_path = job.eval_path = "data.parquet";
    job.train =
        "max_epochs: 2 eval_data { name: 'late' metric: 'mean' "
        "data { path: 'data.parquet' batch_size: 100 split { to: 0.5 } } }";
    job.run = absl::StrCat(
        "evaluation { when { every_steps: 5 } set { name: 'late' when { "
        "every_steps: 10 } } ",
        best, "} checkpoint { keep_last: 1 when { every_steps: 7 } } ", run);
    write("job.textproto", small_job(job));
  }
  // Returns the best score among the lines of evaluations, and its step.
  std::pair<double, int64_t> best_of(const std::string& output_dir) const {
    std::map<int64_t, double> calibration, mean;
    for (const Json& line : read_json_lines(output_dir + "/metrics/eval.jsonl")) {
      const int64_t step = line["step"];
      if (line["set"] == "eval") calibration[step] = line["metrics"]["calibration"];
      if (line["set"] == "late") mean[step] = line["metrics"]["mean"];
    }
    std::optional<std::pair<double, int64_t>> best;
    for (const auto& [step, value] : mean) {
      const double score = (calibration.at(step) + 3 * value) / 4;
      if (!best.has_value() || score > best->first) best = {score, step};
    }
    return best.value_or(std::make_pair(0.0, -1));
  }
  std::string content_digest(const std::string& checkpoint) const {
    return Json::parse(
        millrace_ok({"checkpoint", "show", "--json", checkpoint}).out)["content_digest"];
  }
};

TEST_F(BestTest, SetsHaveMetricsAndCadencesOfTheirOwn) {
  millrace_ok({"train", "job.textproto"});
  std::map<std::string, std::vector<int64_t>> steps;
  for (const Json& line : read_json_lines("out/metrics/eval.jsonl")) {
    steps[line["set"]].push_back(line["step"]);
    EXPECT_EQ(line["metrics"].contains("auc"), line["set"] == "eval");
    EXPECT_EQ(line["metrics"].contains("mean"), line["set"] == "late");
    EXPECT_TRUE(line["metrics"].contains("loss"));
  }
  EXPECT_THAT(steps["eval"], ElementsAre(5, 10, 15, 20, 25, 30, 35, 40));
  EXPECT_THAT(steps["late"], ElementsAre(10, 20, 30, 40));
  const ProgramResult alone = millrace_ok({"evaluate", "job.textproto", "--checkpoint", "out"});
  EXPECT_THAT(alone.out, ContainsRegex("late:.*mean"));
}

TEST_F(BestTest, ARunWithoutAScoreSaysSo) {
  const ProgramResult result = millrace_ok({"train", "job.textproto", "--max_steps", "5"});
  EXPECT_THAT(result.err, HasSubstr("run.evaluation.best: no step has had a score"));
  EXPECT_THAT(result.out, HasSubstr("best score: none"));
  EXPECT_TRUE(read_json("out/summary.json")["best"].is_null());
  const ProgramResult rest = millrace_ok({"train", "job.textproto", "--max_steps", "10"});
  EXPECT_THAT(rest.err, Not(HasSubstr("no step has had a score")));
  EXPECT_THAT(rest.out, HasSubstr(" of step 10"));
}

TEST_F(BestTest, TheSummaryTheLogAndTheFolderKnowIt) {
  const ProgramResult result = millrace_ok({"train", "job.textproto"});
  const auto [score, step] = best_of("out");
  const Json best = read_json("out/summary.json")["best"];
  EXPECT_DOUBLE_EQ(best["score"], score);
  EXPECT_EQ(best["step"], step);
  const std::string checkpoint =
      absl::StrCat("out/checkpoints/step-", step < 10 ? "0" : "", "000000", step);
  EXPECT_EQ(best["checkpoint"], checkpoint);
  EXPECT_TRUE(exists(checkpoint));
  EXPECT_THAT(result.out,
              HasSubstr(absl::StrCat(
                  " (mean of 1 eval/calibration + 3 late/mean, higher is better) of step ", step,
                  " in ", checkpoint)));
  EXPECT_THAT(result.err, AllOf(HasSubstr(absl::StrCat("at step ", step,
                                                       " (mean of 1 eval/calibration + 3 "
                                                       "late/mean, higher is better")),
                                HasSubstr("best score: ")));
  // One checkpoint stays for keep_last, another as the best.
  size_t folders = 0;
  for (const auto& entry : std::filesystem::directory_iterator(path("out/checkpoints"))) {
    folders += entry.is_directory() ? 1 : 0;
  }
  EXPECT_EQ(folders, step == 40 ? 1 : 2);
}

TEST_F(BestTest, ItsPathServesWhereverACheckpointIsNamed) {
  millrace_ok({"train", "job.textproto"});
  const std::string checkpoint = read_json("out/summary.json")["best"]["checkpoint"];
  for (const char* best : {"out/best", "out/checkpoints/best"}) {
    EXPECT_EQ(Json::parse(millrace_ok({"checkpoint", "show", "--json", best}).out)["path"],
              checkpoint);
    EXPECT_THAT(millrace_ok({"evaluate", "job.textproto", "--checkpoint", best}).err,
                HasSubstr("loaded " + checkpoint));
  }
  millrace_ok({"predict", "job.textproto", "--checkpoint", "out/best", "--output", "best.parquet"});
  millrace_ok({"export", "job.textproto", "--checkpoint", "out/best", "--output", "best.pt"});
  EXPECT_THAT(
      millrace_ok({"train", "job.textproto", "--output_dir", "on", "--resume", "out/best"}).err,
      HasSubstr("resuming from " + checkpoint));
  const auto bank = [&](const std::string& source, const std::string& output_dir) {
    millrace_ok({"train", "job.textproto", "--output_dir", output_dir, "--max_steps", "1", "--set",
                 "train.initialize_from='" + source + "'"});
    return content_of(output_dir);
  };
  EXPECT_EQ(bank("out/best", "from_best"), bank(checkpoint, "from_path"));
  EXPECT_EQ(content_of("on"), content_of("out"));
  EXPECT_EQ(read_json("on/summary.json")["best"]["step"],
            read_json("out/summary.json")["best"]["step"]);
}

TEST_F(BestTest, ARunThatIsContinuedKnowsTheSameBest) {
  millrace_ok({"train", "job.textproto"});
  const Json best = read_json("out/summary.json")["best"];
  for (const char* steps : {"4", "10", "15", "20", "27", "39"}) {
    const std::string out = absl::StrCat("out", steps);
    millrace_ok({"train", "job.textproto", "--output_dir", out, "--max_steps", steps});
    millrace_ok({"train", "job.textproto", "--output_dir", out});
    const Json continued = read_json(out + "/summary.json")["best"];
    EXPECT_EQ(continued["score"], best["score"]) << "interrupted after step " << steps;
    EXPECT_EQ(continued["step"], best["step"]) << "interrupted after step " << steps;
    EXPECT_EQ(content_digest(out + "/best"), content_digest("out/best"));
    EXPECT_EQ(content_of(out), content_of("out"));
  }
}

TEST_F(BestTest, AsynchronousCheckpointsGiveTheSame) {
  millrace_ok({"train", "job.textproto"});
  millrace_ok({"train", "job.textproto", "--output_dir", "later", "--set",
               "run.checkpoint.asynchronous=true"});
  const Json best = read_json("later/summary.json")["best"];
  EXPECT_EQ(best["score"], read_json("out/summary.json")["best"]["score"]);
  EXPECT_TRUE(exists(best["checkpoint"]));
  EXPECT_EQ(content_digest("later/best"), content_digest("out/best"));
}

TEST_F(BestTest, WithoutCheckpointsTheScoreAloneIsKnown) {
  millrace_ok({"train", "job.textproto", "--set", "run.checkpoint.enabled=false"});
  const Json best = read_json("out/summary.json")["best"];
  EXPECT_EQ(best["step"], best_of("out").second);
  EXPECT_EQ(best["checkpoint"], "");
}

TEST_F(BestTest, WithoutABestTheSummarySaysNoneAndThePathIsExplained) {
  write_job("");
  millrace_ok({"train", "job.textproto"});
  EXPECT_EQ(read_json("out/summary.json")["best"], nullptr);
  const ProgramResult result = millrace({"evaluate", "job.textproto", "--checkpoint", "out/best"});
  EXPECT_EQ(result.exit_code, kNoInput);
  EXPECT_THAT(result.last_error(),
              AllOf(HasSubstr("no best score is known"), HasSubstr("run.evaluation.best")));
}

TEST_F(BestTest, MistakesAreRefusedTogether) {
  write_job("best { term { monitor: 'eval/acu' } term { monitor: 'late/auc' weight: 0 } } ",
            "hooks { name: 'early_stopping' }");
  for (const std::vector<std::string>& command :
       {std::vector<std::string>{"train", "job.textproto"}, {"config", "check", "job.textproto"}}) {
    const ProgramResult result = millrace(command);
    EXPECT_EQ(result.exit_code, kUsage) << result.err;
    EXPECT_THAT(result.err, HasSubstr("run.hooks[0] \"early_stopping\": it decides"));
    EXPECT_THAT(
        result.err,
        AllOf(HasSubstr("run.evaluation.best.term[0] \"eval/acu\": no evaluation gives this "
                        "metric; did you mean \"eval/auc\"?"),
              HasSubstr("Metrics of eval: loss, auc, logloss, ne, calibration; of late: "
                        "loss, mean"),
              HasSubstr("run.evaluation.best.term[1] \"late/auc\": weight is 0")));
  }
  EXPECT_FALSE(exists("out"));
}

}  // namespace
}  // namespace millrace
