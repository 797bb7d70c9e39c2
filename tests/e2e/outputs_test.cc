// Tests that no output of the program destroys files of a user.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/file_system.h"
#include "base/status_matchers.h"
#include "tests/e2e/program_test.h"
#include "tests/e2e/small_job.h"
#include "tests/e2e/streaming_case.h"
#include "tests/io_testing/data_files.h"

namespace millrace {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

SmallJob job() { return {.train_path = "data.parquet", .eval_path = "data.parquet"}; }

class OutputsTest : public ProgramTest {
 protected:
  void SetUp() override {
    write("job.textproto", small_job(job()));
    write("notes.csv", "my own notes");
    EXPECT_OK(write_data_file(criteo_like_table(200, 1, 1), DataConfig::PARQUET, 100,
                              path("data.parquet")));
  }

  // Returns name and content of every file.
  std::map<std::string, std::string> all_files() const {
    std::map<std::string, std::string> files;
    for (const std::string& name : files_below(".")) files[name] = read(name);
    return files;
  }

  // Runs a command that must fail and change nothing.
  void refused(const std::vector<std::string>& arguments, int exit_code,
               const std::vector<std::string>& words) const {
    SCOPED_TRACE(absl::StrJoin(arguments, " "));
    const auto before = all_files();
    const ProgramResult result = millrace(arguments);
    EXPECT_EQ(result.exit_code, exit_code) << result.err;
    for (const std::string& word : words) EXPECT_THAT(result.last_error(), HasSubstr(word));
    EXPECT_EQ(all_files(), before);
  }

  // Runs the program from a shell.
  ProgramResult shell(const std::string& command) const {
    const std::string text =
        absl::StrCat("millrace() { ", millrace_path(), " \"$@\"; }; ", command);
    return run_program({"/bin/bash", "-c", text}, {.directory = path("")});
  }
};

TEST_F(OutputsTest, ASummaryReplacesNoFileOfAnotherKind) {
  refused({"train", "job.textproto", "--summary", "notes.csv"}, kCannotWrite,
          {"--summary", "notes.csv", "not a summary", "--overwrite"});
  refused({"train", "job.textproto", "--summary", "notes.csv", "--bogus"}, kUsage, {"--bogus"});
  refused({"train", "job.textproto", "--summary", "notes.csv", "--overwrite", "--set", "x=1"},
          kUsage, {"--set"});
  refused({"train", "none.textproto", "--summary", "notes.csv", "--overwrite"}, kNoInput, {"none"});
  for (const std::string name : {"data.parquet", "job.textproto", "./data.parquet"}) {
    for (const std::string flag : {"--overwrite", "--seed=1"}) {
      refused({"train", "job.textproto", "--summary", name, flag}, kUsage,
              {"--summary", name, "choose another name"});
    }
  }
  refused({"train", "job.textproto", "--summary", "out/config.textproto"}, kCannotWrite, {"out"});
  millrace_ok({"train", "job.textproto", "--summary", "notes.csv", "--overwrite"});
  EXPECT_EQ(read_json("notes.csv")["outcome"], "completed");
  millrace_ok({"train", "job.textproto", "--summary", "notes.csv"});
  refused({"train", "job.textproto", "--summary", "out/events.jsonl", "--overwrite"}, kUsage,
          {"a file that the run itself writes"});
  SmallJob with_csv = job();
  with_csv.run = "sink { csv { directory: \"mine\" } }";
  write("csv.textproto", small_job(with_csv));
  std::filesystem::create_directory(path("out/mine"));
  std::filesystem::create_symlink("../../data.parquet", path("out/mine/train.csv"));
  refused({"train", "csv.textproto", "--overwrite"}, kUsage,
          {"run.sink[0]", "out/mine/train.csv", "it is a file of train."});
}

TEST_F(OutputsTest, NorDoOtherOutputs) {
  millrace_ok({"train", "job.textproto"});
  const auto predict = [](std::vector<std::string> flags) {
    flags.insert(flags.begin(), {"predict", "job.textproto", "--checkpoint", "out", "--output"});
    return flags;
  };
  refused(predict({"notes.csv"}), kCannotWrite, {"--output", "not a file of predictions"});
  refused(predict({"data.parquet", "--overwrite"}), kUsage, {"it is a file of train."});
  refused(predict({"out/checkpoints/step-00000004/p.csv"}), kCannotWrite, {"checkpoint"});
  refused(predict({"p.csv", "--summary", "p.csv"}), kUsage, {"--summary", "--output"});
  refused(predict({"p.csv", "--summary", "notes.csv"}), kCannotWrite, {"--summary"});
  refused(predict({"p.csv", "--summary", "data.parquet", "--overwrite"}), kUsage, {"--summary"});
  millrace_ok(predict({"p.csv"}));
  millrace_ok(predict({"p.csv"}));
  refused(
      {"predict", "job.textproto", "--checkpoint", "out", "--data", "p.csv", "--output", "p.csv"},
      kUsage, {"--output"});
  refused({"evaluate", "job.textproto", "--checkpoint", "out", "--summary", "data.parquet"}, kUsage,
          {"--summary", "choose another name"});
  refused({"export", "job.textproto", "--checkpoint", "out", "--output", "notes.csv"}, kCannotWrite,
          {"not an exported model"});
  refused({"bench", "loop", "--output", "notes.csv"}, kCannotWrite, {"not a file of measurements"});
  millrace_ok(predict({"notes.csv", "--overwrite"}));
  EXPECT_EQ(read("notes.csv"), read("p.csv"));
}

TEST_F(OutputsTest, GeneratedFilesReplaceNoOthers) {
  std::filesystem::create_directory(path("d"));
  write("d/part-1.parquet", "mine");
  const std::vector<std::string> generate = {"generate", "--output_dir", "d", "--rows",
                                             "50",       "--eval_rows",  "50"};
  refused(generate, kCannotWrite, {"d/part-1.parquet", "--overwrite"});
  std::filesystem::remove(path("d/part-1.parquet"));
  millrace_ok(generate);
  millrace_ok(generate);
  write("d/part-7.parquet", "mine");
  refused({"generate", "--output_dir", "d", "--rows", "50", "--files", "8"}, kCannotWrite,
          {"d/part-7.parquet", "--overwrite"});
}

TEST_F(OutputsTest, ADirectoryOfOthersIsNoOutputDirectory) {
  for (const std::string name : {"config.textproto", "summary.json", "lock", "events.jsonl",
                                 "metrics/train.jsonl", "part-0.csv"}) {
    std::filesystem::create_directories(path("mine/metrics"));
    write("mine/" + name, "mine");
    refused({"train", "job.textproto", "--output_dir", "mine"}, kCannotWrite,
            {"output_dir mine", "mine/" + name.substr(0, name.find('/')), "--output_dir"});
    std::filesystem::remove_all(path("mine"));
  }
  refused({"train", "job.textproto", "--output_dir", "."}, kCannotWrite, {"./data.parquet"});
  std::filesystem::create_directory(path("mine"));
  write("mine/notes", "mine");
  millrace_ok({"train", "job.textproto", "--output_dir", "mine", "--overwrite"});
  EXPECT_EQ(read("mine/notes"), "mine");
}

TEST_F(OutputsTest, RunsGoOnInTheirDirectoryHoweverItCameThere) {
  const auto train = [&](const std::string& directory, const std::string& steps) {
    millrace_ok({"train", "job.textproto", "--output_dir", directory, "--max_steps", steps});
  };
  train("a", "1");
  train("a", "2");
  // A user removed the lock of "a", and the first run of "b" saves nothing.
  std::filesystem::remove(path("a/lock"));
  train("a", "3");
  millrace_ok({"train", "job.textproto", "--output_dir", "b", "--max_steps", "1", "--set",
               "run.checkpoint.enabled=false"});
  train("b", "1");
  // The directory of a run that failed before its first step.
  std::filesystem::create_directory(path("c"));
  EXPECT_EQ(millrace({"train", "job.textproto", "--output_dir", "c", "--train_data", "none.orc",
                      "--summary", "c/summary.json"})
                .exit_code,
            kNoInput);
  train("c", "1");
}

TEST_F(OutputsTest, TheLogOfTheRunMayLieInItsDirectory) {
  const ProgramResult result = shell(
      "mkdir o; millrace train job.textproto --output_dir o --summary /dev/stdout >> o/log 2>&1");
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_THAT(read("o/log"), AllOf(HasSubstr("completed: "), HasSubstr("\"outcome\"")));
}

constexpr char kDenseJob[] = R"(
train {
  train_data { path: "data.parquet" batch_size: 50 }
  feature { name: "label" kind: LABEL }
  feature { name: "i1" kind: DENSE default_value: 0 }
  model { name: "mlp" [millrace.mlp] { hidden: [4] } }
}
run { threads: 1 }
)";

// The ranks write to pipes of the launcher, which has written to the file before the ranks check
// the file.
TEST_F(OutputsTest, TheLogOfALaunchMayLieInTheOutputDirectory) {
  write("dense.textproto", kDenseJob);
  const ProgramResult result = shell(
      "mkdir o; (echo begin; millrace launch -n 2 -- train dense.textproto --output_dir o) "
      "> o/log 2>&1");
  EXPECT_EQ(result.exit_code, 0) << read("o/log");
  EXPECT_THAT(read("o/log"), AllOf(HasSubstr("begin"), HasSubstr("[0] completed: ")));
  // A user wrote the file p/log.
  const ProgramResult other = shell(
      "mkdir p; echo mine > p/log; millrace launch -n 2 -- train dense.textproto --output_dir p");
  EXPECT_EQ(other.exit_code, kCannotWrite);
  EXPECT_THAT(other.err, HasSubstr("p/log"));
}

TEST_F(OutputsTest, WhatAKilledPredictLeftGoes) {
  millrace_ok({"train", "job.textproto"});
  write("p.csv.millrace.tmp-1", "half of it");
  millrace_ok({"predict", "job.textproto", "--checkpoint", "out", "--output", "p.csv"});
  EXPECT_FALSE(exists("p.csv.millrace.tmp-1"));
  std::filesystem::create_symlink("p.csv", path("link.csv"));
  std::filesystem::permissions(
      path("p.csv"), std::filesystem::perms::owner_read | std::filesystem::perms::owner_write);
  write("p.csv", "old");
  millrace_ok(
      {"predict", "job.textproto", "--checkpoint", "out", "--output", "link.csv", "--overwrite"});
  EXPECT_TRUE(std::filesystem::is_symlink(path("link.csv")));
  EXPECT_NE(read("p.csv"), "old");
  EXPECT_EQ(
      std::filesystem::status(path("p.csv")).permissions() & std::filesystem::perms::others_read,
      std::filesystem::perms::none);
}

TEST_F(OutputsTest, ConfigurationsFromPipes) {
  EXPECT_EQ(shell("millrace train <(cat job.textproto) --output_dir a").exit_code, 0);
  EXPECT_EQ(shell("cat job.textproto | millrace train /dev/stdin --output_dir b").exit_code, 0);
  ASSERT_EQ(::mkfifo(path("fifo").c_str(), 0600), 0);
  EXPECT_EQ(shell("cat job.textproto > fifo & millrace train fifo --output_dir c").exit_code, 0);
  EXPECT_EQ(content_of("a"), content_of("b"));
  EXPECT_EQ(content_of("a"), content_of("c"));
  EXPECT_EQ(shell("millrace config check <(cat job.textproto)").exit_code, 0);
  const ProgramResult ranks =
      shell("millrace launch -n 2 -- train <(cat job.textproto) --output_dir d");
  EXPECT_EQ(ranks.exit_code, kUsage) << ranks.err;
  EXPECT_THAT(ranks.err, HasSubstr("is a pipe, which gives its text to one of 2 ranks"));
  EXPECT_FALSE(exists("d"));
}

TEST_F(OutputsTest, PathsThatAShellShouldHaveExpanded) {
  const std::string advice = "only a shell replaces ";
  for (const std::string place : {"~/out", "~", "$HOME/o", "runs/${USER}"}) {
    refused({"train", "job.textproto", "--output_dir", place}, kUsage, {"output_dir", advice});
  }
  refused({"train", "job.textproto", "--summary", "~/s.json"}, kUsage, {"--summary", advice});
  refused({"train", "job.textproto", "--train_data", "~/d/*.orc"}, kNoInput,
          {"--train_data", advice});
  refused({"generate", "--output_dir", "$HOME/d"}, kUsage, {advice});
  refused({"predict", "job.textproto", "--checkpoint", "out", "--output", "~/p.csv"}, kUsage,
          {"--output", advice});
  refused({"config", "check", "job.textproto", "--set", "run.window_io.move_done_to=~/done"},
          kUsage, {"run.window_io", advice});
}

// The directory is removed before the next save.
TEST_F(StreamingCase, AnOutputDirectoryThatIsRemovedIsMadeAgain) {
  produce(0);
  RunningProgram program = start();
  ASSERT_TRUE(program.wait_for("step 4 "));
  ASSERT_TRUE(program.wait_for("saved out/checkpoints/step-00000004"));
  ASSERT_TRUE(program.wait_for("waiting since"));
  std::filesystem::remove_all(path("out"));
  produce(1);
  ASSERT_TRUE(program.wait_for("saved out/checkpoints/step-00000008"));
  produce(2);
  produce_end();
  const ProgramResult result = program.finish();
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.err, HasSubstr("out/checkpoints was removed while this run writes there"));
  EXPECT_EQ(newest_step("out"), 12);
  EXPECT_TRUE(exists("out/config.textproto"));
  EXPECT_EQ(read_json("out/summary.json")["steps"], 12);
  // Every file begins again with the first checkpoint after the removal.
  EXPECT_THAT(read("out/logs/rank-0.log"), HasSubstr("completed: 12 steps"));
  EXPECT_EQ(read_json_lines("out/events.jsonl").back()["kind"], "ended");
  EXPECT_EQ(read_json_lines("out/metrics/train.jsonl").back()["step"], 12);
  EXPECT_EQ(trained("out")[2], produced(3)[2]);
}

// The next run accepts the directory even if no later save would mark it.
TEST_F(StreamingCase, AnOutputDirectoryThatIsRemovedStaysARuns) {
  produce(0);
  const std::vector<std::string> flags = {
      "--set", "run.checkpoint={when {every_steps: 1000} at_end: false}"};
  RunningProgram program = start(flags);
  ASSERT_TRUE(program.wait_for("step 4 "));
  ASSERT_TRUE(program.wait_for("waiting since"));
  std::filesystem::remove_all(path("out"));
  produce(1);
  produce_end();
  const ProgramResult result = program.finish();
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.err, HasSubstr("out was removed while this run wrote there"));
  EXPECT_TRUE(exists("out/summary.json"));
  EXPECT_EQ(run(flags).exit_code, 0);
}

TEST_F(StreamingCase, AFileInPlaceOfTheOutputDirectoryIsNamed) {
  produce(0);
  RunningProgram program = start();
  ASSERT_TRUE(program.wait_for("saved out/checkpoints/step-00000004"));
  ASSERT_TRUE(program.wait_for("waiting since"));
  std::filesystem::remove_all(path("out"));
  write("out", "mine");
  produce(1);
  produce_end();
  const ProgramResult result = program.finish();
  EXPECT_EQ(result.exit_code, kCannotWrite) << result.err;
  EXPECT_THAT(result.last_error(), AllOf(HasSubstr("cannot write in out/checkpoints"),
                                         HasSubstr("choose another output_dir")));
  EXPECT_EQ(read("out"), "mine");
}

// Each rank has its log in the directory.
TEST_F(StreamingCase, SoAreTheLogsOfAllRanks) {
  write_job("", /*with_table=*/false);
  produce(0);
  RunningProgram program({millrace_path(), "launch", "-n", "2", "--", "train", "job.textproto"},
                         {.directory = path("")});
  ASSERT_TRUE(program.wait_for("saved out/checkpoints/step-00000002"));
  ASSERT_TRUE(program.wait_for("waiting since"));
  std::filesystem::remove_all(path("out"));
  produce(1);
  ASSERT_TRUE(program.wait_for("saved out/checkpoints/step-00000004"));
  produce(2);
  produce_end();
  const ProgramResult result = program.finish();
  EXPECT_EQ(result.exit_code, 0) << result.err;
  for (const std::string log : {"out/logs/rank-0.log", "out/logs/rank-1.log"}) {
    EXPECT_THAT(read(log), HasSubstr("completed: 6 steps"));
  }
}

}  // namespace
}  // namespace millrace
