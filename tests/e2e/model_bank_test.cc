// Tests `millrace train` with initial values from other models.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "base/status_matchers.h"
#include "tests/e2e/program_test.h"
#include "tests/e2e/small_job.h"
#include "tests/io_testing/data_files.h"

namespace millrace {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

SmallJob job() {
  return {
      .train_path = "data.parquet",
      .eval_path = "data.parquet",
      .dense = {"i{1..2}"},
      .ids = {"c{1..2}"},
      .train = "max_steps: 10",
      .run = "report { when { every_steps: 1 } }",
  };
}

class ModelBankTest : public ProgramTest {
 protected:
  ModelBankTest() {
    write("job.textproto", small_job(job()));
    EXPECT_OK(write_data_file(criteo_like_table(1000, 2, 2), DataConfig::PARQUET, 300,
                              path("data.parquet")));
  }
  // Trains a job whose checkpoints are the sources of other jobs.
  void train_source(const std::string& steps = "10") const {
    millrace_ok({"train", "job.textproto", "--output_dir", "source", "--max_steps", steps});
  }
  static std::vector<std::string> with(const std::string& assignment,
                                       std::vector<std::string> more = {}) {
    more.insert(more.begin(), {"train", "job.textproto", "--seed", "7", "--set", assignment});
    return more;
  }
  static std::vector<std::string> initialized_from(const std::string& path,
                                                   std::vector<std::string> more = {}) {
    return with(absl::StrCat("train.initialize_from=\"", path, "\""), std::move(more));
  }
};

TEST_F(ModelBankTest, TheModelIsThatOfTheSource) {
  train_source("20");  // so that every id has a row
  const ProgramResult result = millrace_ok(
      initialized_from("source/checkpoints", {"--set", "run.evaluation.when={at_start: true}"}));
  EXPECT_THAT(result.err, AllOf(HasSubstr("model bank:"), HasSubstr("F32 rows of 5"),
                                HasSubstr("source/checkpoints/step-00000020")));
  const auto began = read_json_lines("out/metrics/eval.jsonl");
  const auto ended = read_json_lines("source/metrics/eval.jsonl");
  ASSERT_FALSE(began.empty() || ended.empty());
  EXPECT_EQ(began[0]["step"], 0);
  EXPECT_EQ(began[0]["metrics"], ended.back()["metrics"]);
  EXPECT_NE(content_of("out"), content_of("source"));
  // A resumed run uses only its own checkpoints, even if the source has changed.
  const ProgramResult again =
      millrace_ok(initialized_from("source/checkpoints", {"--max_steps", "12"}));
  EXPECT_THAT(again.err, AllOf(HasSubstr("resuming from out/checkpoints/step-00000010"),
                               Not(HasSubstr("model bank:"))));
}

// deepfm adds a first-order weight to the four columns of the table.
TEST_F(ModelBankTest, VectorsOfTheConfiguredDimFitDeepFm) {
  for (const std::string rest : {"", " 9"}) {
    write("vectors.txt", absl::StrCat("1001 1 2 3 4", rest, "\n1002 5 6 7 8", rest, "\n"));
    millrace_ok(
        with("train.model_bank={ source { path: \"vectors.txt\" rows { table: \"c1\" } "
             "allow_missing: \"*\" } }",
             {"--set", "train.table[0].frozen=true", "--output_dir", "out" + rest}));
    const ProgramResult read =
        millrace_ok({"checkpoint", "read", "out" + rest, "--table", "c1", "--ids", "1002"});
    EXPECT_THAT(read.out, HasSubstr("weights: 5 6 7 8 "));
  }
}

TEST_F(ModelBankTest, IdsThatAreTextAreHashedAsTheFeature) {
  write("vectors.txt", "ring 1 2 3 4\nbook 5 6 7 8\n");
  const auto assignment =
      "train.model_bank={ source { path: \"vectors.txt\" rows { table: \"c1\" } allow_missing: "
      "\"*\" } }";
  const ProgramResult refused = millrace(with(assignment));
  EXPECT_EQ(refused.exit_code, kBadData);
  EXPECT_THAT(refused.last_error(),
              HasSubstr("line 1: \"ring\" is no 64-bit id, and no feature of table c1"));
  write("job.textproto", absl::StrReplaceAll(read("job.textproto"),
                                             {{"feature { name: \"c{1..2}\" }",
                                               "feature { name: \"c1\" transform { hash {} } } "
                                               "feature { name: \"c2\" }"}}));
  millrace_ok(with(assignment, {"--set", "train.table[0].frozen=true"}));
  const ProgramResult read =
      millrace_ok({"checkpoint", "read", "out", "--table", "c1", "--ids", "ring,lamp"});
  EXPECT_THAT(read.out, AllOf(HasSubstr("(\"ring\")\n  weights: 1 2 3 4 "),
                              HasSubstr("(\"lamp\") has no row")));
}

TEST_F(ModelBankTest, AllPartsGoOnWhereTheSourceStood) {
  train_source();
  millrace_ok({"train", "job.textproto", "--max_steps", "20", "--output_dir", "out", "--set",
               "train.model_bank={ source { path: \"source/checkpoints\" parts: [WEIGHTS, SLOTS, "
               "DENSE_OPTIMIZER, PROGRESS, CURSOR, HOOKS] } }"});
  millrace_ok({"train", "job.textproto", "--max_steps", "20", "--output_dir", "undisturbed"});
  EXPECT_EQ(content_of("out"), content_of("undisturbed"));
}

TEST_F(ModelBankTest, RowsFromAFileOfATableThatIsFrozen) {
  std::string rows;
  for (int id = 0; id < 5; ++id) absl::StrAppend(&rows, 1000 + id, " 1 2 3 4 ", id, "\n");
  write("vectors.txt", rows);
  millrace_ok(
      with("train.model_bank={ source { path: \"vectors.txt\" rows { table: \"c1\" } "
           "allow_missing: \"*\" } }",
           {"--set", "train.table[0].frozen=true"}));
  const ProgramResult read =
      millrace_ok({"checkpoint", "read", "out", "--table", "c1", "--ids", "1003"});
  EXPECT_THAT(read.out, HasSubstr("1003"));
  const ProgramResult shown = millrace_ok({"checkpoint", "show", "out", "--json"});
  EXPECT_THAT(shown.out, HasSubstr("\"rows\": 5"));
}

// A source only gives initial values.
TEST_F(ModelBankTest, ARunThatGoesOnNeedsNoSource) {
  train_source();
  millrace_ok(initialized_from("source/checkpoints", {"--max_steps", "6"}));
  const ProgramResult without =
      millrace_ok({"train", "job.textproto", "--seed", "7", "--max_steps", "8"});
  EXPECT_THAT(without.err, HasSubstr("resuming from out/checkpoints/step-00000006"));
  const ProgramResult with_one = millrace_ok(initialized_from("nowhere", {"--max_steps", "10"}));
  EXPECT_THAT(with_one.err, AllOf(HasSubstr("resuming from out/checkpoints/step-00000008"),
                                  HasSubstr("train.initialize_from) is not loaded again")));
}

TEST_F(ModelBankTest, TablesWithoutRowsAreToldOf) {
  write("none.txt", "\n");
  const auto command = with(
      "train.model_bank={ source { path: \"none.txt\" rows { table: \"c1\" } "
      "allow_missing: \"*\" } }",
      {"--set", "train.table[0].frozen=true"});
  const ProgramResult result = millrace_ok(command);
  EXPECT_THAT(result.err, AllOf(HasSubstr("table c1 got no rows: there are none in none.txt"),
                                HasSubstr("table c1 is frozen and has no rows")));
  std::vector<std::string> launched = {"launch", "-n", "2", "--"};
  launched.insert(launched.end(), command.begin(), command.end());
  launched.insert(launched.end(), {"--output_dir", "over_ranks"});
  EXPECT_THAT(millrace_ok(launched).err, HasSubstr("table c1 is frozen and has no rows"));
}

TEST_F(ModelBankTest, BadRowsAreBadData) {
  write("bad.txt", "1003 0.5\n");
  const ProgramResult result =
      millrace(with("train.model_bank={ source { path: \"bad.txt\" rows { table: \"c1\" } "
                    "allow_missing: \"*\" } }"));
  EXPECT_EQ(result.exit_code, kBadData);
  EXPECT_THAT(result.last_error(),
              HasSubstr("bad.txt: line 1: 1 numbers; the table takes 4, or 5"));
}

TEST_F(ModelBankTest, ADynamicSourceIsLoadedAgainWhenItHasChanged) {
  train_source();
  const std::string bank =
      "train.model_bank={ source { path: \"source/checkpoints\" parts: WEIGHTS dynamic: true } "
      "reload { every_steps: 5 } }";
  std::vector<std::string> arguments =
      with(bank, {"--set", "train.max_steps=0", "--set", "train.max_epochs=0"});
  arguments.insert(arguments.begin(), millrace_path());
  RunningProgram program(arguments, {.directory = path("")});
  ASSERT_TRUE(program.wait_for("step 12 "));
  train_source("20");
  ASSERT_TRUE(program.wait_for("model bank, reloaded:"));
  program.send(SIGTERM);
  const ProgramResult stopped = program.finish();
  EXPECT_EQ(stopped.exit_code, kRunAgain) << stopped.err;
  EXPECT_THAT(stopped.err, HasSubstr("source/checkpoints/step-00000020"));
  // A resumed run knows the content that was loaded.
  const int64_t steps = read_json("out/summary.json")["steps"];
  const ProgramResult again = millrace_ok(
      with(bank, {"--max_steps", absl::StrCat(steps + 11), "--set", "train.max_epochs=0"}));
  EXPECT_THAT(again.err, AllOf(HasSubstr("resuming from"), Not(HasSubstr("model bank"))));
}

TEST_F(ModelBankTest, WhatDoesNotFitIsListed) {
  const ProgramResult missing = millrace(initialized_from("nowhere"));
  EXPECT_EQ(missing.exit_code, kNoInput);
  EXPECT_THAT(missing.err, AllOf(HasSubstr("train.initialize_from"), HasSubstr("nowhere")));
  train_source();
  const ProgramResult shape =
      millrace(initialized_from("source/checkpoints", {"--set", "train.table[0].dim=8"}));
  EXPECT_EQ(shape.exit_code, kUsage) << shape.err;
  EXPECT_THAT(shape.err, AllOf(HasSubstr("c1"), HasSubstr("F32 rows of 5"), HasSubstr("c2"),
                               HasSubstr("F32 rows of 9")));
  const ProgramResult pattern = millrace(
      with("train.model_bank={ source { path: \"source/checkpoints\" exclude: \"ghost.*\" } }"));
  EXPECT_EQ(pattern.exit_code, kUsage) << pattern.err;
  EXPECT_THAT(pattern.err, HasSubstr("ghost.*"));
  const std::string table = "source/checkpoints/step-00000010/table-c1-00000-of-00001.safetensors";
  ASSERT_TRUE(exists(table));
  std::string content = read(table);
  content.back() ^= 1;
  write(table, content);
  const ProgramResult damaged = millrace(initialized_from("source/checkpoints/step-00000010"));
  EXPECT_EQ(damaged.exit_code, kBadData) << damaged.err;
  EXPECT_THAT(damaged.err, HasSubstr(table));
  EXPECT_FALSE(exists("out")) << "nothing was begun";
}

}  // namespace
}  // namespace millrace
