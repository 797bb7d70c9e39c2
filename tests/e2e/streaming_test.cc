// Tests `millrace train` on data that keeps arriving.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <filesystem>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/status_matchers.h"
#include "tests/e2e/streaming_case.h"

namespace millrace {
namespace {

using ::testing::HasSubstr;

class StreamingTest : public StreamingCase {};

TEST_F(StreamingTest, TrainsWhatComesUntilTheEnd) {
  produce(0);
  RunningProgram program = start();
  ASSERT_TRUE(program.wait_for("waiting since"));
  EXPECT_EQ(acknowledged("out"), (std::vector<int64_t>{0})) << "while it waits";
  produce(1);
  ASSERT_TRUE(program.wait_for("step 8 "));
  produce(2);
  produce_end();
  const ProgramResult result = program.finish();
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.out, HasSubstr("completed: 12 steps, 600 examples"));
  EXPECT_THAT(result.err, HasSubstr("for files in incoming (0 of 1 are there)"));
  EXPECT_EQ(trained("out"), produced(3));
  EXPECT_EQ(acknowledged("out"), (std::vector<int64_t>{0, 1, 2}));
  EXPECT_THAT(run().out, HasSubstr("finished before (completed)"));
}

TEST_F(StreamingTest, KilledByChanceWhileFilesCome) {
  survive(/*kills=*/6, /*files=*/9, /*seed=*/1);
}

TEST_F(StreamingTest, KilledByChanceWhileFilesOfTwoStreamsCome) {
  write_mixed_job();
  survive(/*kills=*/5, /*files=*/8, /*seed=*/2);
}

TEST_F(StreamingTest, ARankKilledByChanceWhileFilesCome) {
  survive_over_ranks(/*ranks=*/2, /*kills=*/3, /*files=*/6, /*seed=*/3);
}

TEST_F(StreamingTest, ASignalEndsTheWaitAndTheNextRunGoesOn) {
  produce(0);
  RunningProgram program = start();
  ASSERT_TRUE(program.wait_for("waiting since"));
  program.send(SIGTERM);
  EXPECT_EQ(program.finish().exit_code, kRunAgain);
  produce(1);
  produce_end();
  const ProgramResult again = run();
  ASSERT_EQ(again.exit_code, 0) << again.err;
  EXPECT_EQ(trained("out"), produced(2));
}

// A run that stops after each step gets the result of an undisturbed run.
TEST_F(StreamingTest, GoesOnFromEveryStep) {
  write_job("rows: 130 repeat: 2");
  for (int64_t file = 0; file < 2; ++file) produce(file);
  produce_end();
  ASSERT_EQ(run({"--output_dir", "whole"}).exit_code, 0);
  const std::string content = content_of("whole");
  const int64_t steps = newest_step("whole");
  EXPECT_EQ(steps, 20);  // three times 50, 50, 30 examples and then 10, and all of it twice
  for (int64_t step = 1; step < steps; ++step) {
    const std::string output = absl::StrCat("from-", step);
    const ProgramResult first = run({"--output_dir", output, "--max_steps", absl::StrCat(step)});
    ASSERT_EQ(first.exit_code, 0) << first.err;
    const ProgramResult second = run({"--output_dir", output});
    ASSERT_EQ(second.exit_code, 0) << second.err;
    EXPECT_EQ(content_of(output), content) << "from step " << step;
    EXPECT_EQ(trained(output), trained("whole")) << "from step " << step;
  }
}

TEST_F(StreamingTest, WindowsOfManifests) {
  std::filesystem::create_directory(path("manifests"));
  write_job_on("shuffle_rows: 300 format: CSV windows { manifest { path: 'manifests' } }");
  for (int64_t file = 0; file < 3; ++file) produce(file);
  write("manifests/7.manifest", "incoming/part-0000.csv\n");
  RunningProgram program = start();
  ASSERT_TRUE(program.wait_for("for a manifest in manifests"));
  write("manifests/.m", "incoming/part-0001.csv\nincoming/part-0002.csv\n");
  std::filesystem::rename(path("manifests/.m"), path("manifests/12.manifest"));
  ASSERT_TRUE(program.wait_for("step 12 "));
  program.send(SIGTERM);
  EXPECT_EQ(program.finish().exit_code, kRunAgain);
  auto expected = produced(3);
  expected[1].insert(expected[1].end(), expected[2].begin(), expected[2].end());
  expected.erase(2);
  EXPECT_EQ(trained("out"), expected);
  EXPECT_EQ(read_json_lines("out/windows.jsonl")[1]["name"], "12");
}

TEST_F(StreamingTest, AGateStopsBeforeABadWindowAndTheWindowCanBeSkipped) {
  produce(0);
  std::string rows = "label,i1,c1,id\n";  // without an id in every second row
  for (int64_t row = 0; row < 50; ++row) rows += row % 2 == 0 ? "1,0,,0\n" : line_of(row);
  write("incoming/part-0001.csv", rows);
  produce(2);
  produce_end();
  const std::vector<std::string> gate = {
      "--set",
      "run.window_gate={min_rows: 100 label {feature: 'label'} present {feature: 'i1'} "
      "present {feature: 'c1' min: 0.9}}"};
  const ProgramResult stopped = run(gate);
  EXPECT_EQ(stopped.exit_code, kBadData);
  EXPECT_THAT(stopped.err, HasSubstr("window part-0001.csv: 50 rows, and min_rows is 100; the "
                                     "share of rows with c1 is 0.5, and present.min is 0.9"));
  EXPECT_EQ(newest_step("out"), kSteps) << "nothing of the window was trained on";
  auto skips = gate;
  skips.insert(skips.end(), {"--set", "train.train_data.windows.skip=['part-0001.csv', 'no']"});
  const ProgramResult rest = run(skips);
  ASSERT_EQ(rest.exit_code, 0) << rest.err;
  EXPECT_THAT(rest.err, HasSubstr("windows.skip: no window of this run has the name no\n"));
  auto expected = produced(3);
  expected.erase(1);
  EXPECT_EQ(trained("out"), expected);
  const auto windows = read_json_lines("out/windows.jsonl");
  ASSERT_EQ(windows.size(), 3u);
  EXPECT_EQ(windows[0]["rows"], 200);
  EXPECT_EQ(windows[0]["present_c1"], 1.0);
  EXPECT_EQ(windows[0]["present_i1"], 1.0) << "a 0 is a value";
  EXPECT_EQ(windows[0]["positive_label"], 0.335);
  EXPECT_EQ(windows[1]["damage"], "left out by windows.skip");
  EXPECT_THAT(read("out/metrics/train.jsonl"), HasSubstr("window_positive_label"));

  // Ranks count together, and stop together.
  std::vector<std::string> ranks = {"launch",        "-n",           "2",  "--", "train",
                                    "job.textproto", "--output_dir", "two"};
  ranks.insert(ranks.end(), gate.begin(), gate.end());
  const ProgramResult two = millrace(ranks);
  EXPECT_EQ(two.exit_code, kBadData) << two.err;
  EXPECT_THAT(two.err, HasSubstr("window part-0001.csv: 50 rows, and min_rows is 100"));
  EXPECT_EQ(read_json_lines("two/windows.jsonl")[0]["rows"], 200);

  const ProgramResult wrong = run({"--set", "run.window_gate={present {feature: 'c2' min: 2}}"});
  EXPECT_EQ(wrong.exit_code, kUsage);
  EXPECT_THAT(wrong.err, HasSubstr("run.window_gate.present"));
}

TEST_F(StreamingTest, RewindsToAWindow) {
  for (int64_t file = 0; file < 4; ++file) produce(file);
  produce_end();
  const std::vector<std::string> keeps = {"--set", "run.checkpoint.keep_last=20"};
  ASSERT_EQ(run(keeps).exit_code, 0);
  const std::string content = content_of("out"), windows = read("out/windows.jsonl");
  const auto all = trained("out");
  const ProgramResult look = millrace_ok({"rewind", "out", "--to", "part-0002.csv", "--dry_run"});
  EXPECT_THAT(look.out, HasSubstr("would remove out/checkpoints/step-00000016\n"));
  EXPECT_THAT(look.out, HasSubstr("window 2 (part-0002.csv): training would resume from "
                                  "out/checkpoints/step-00000008, which holds 2 windows"));
  EXPECT_EQ(content_of("out"), content);
  millrace_ok({"rewind", "out", "--to", "part-0002.csv"});
  EXPECT_EQ(newest_step("out"), 2 * kSteps);
  EXPECT_EQ(acknowledged("out"), (std::vector<int64_t>{0, 1}));
  EXPECT_THAT(millrace_ok({"explain", "out"}).out, HasSubstr("rewound window"));
  ASSERT_EQ(run(keeps).exit_code, 0);
  EXPECT_EQ(content_of("out"), content);
  EXPECT_EQ(read("out/windows.jsonl"), windows);
  EXPECT_EQ(trained("out"), all);

  const auto fails = [&](const std::string& to, int code, const std::string& why) {
    const ProgramResult result = millrace({"rewind", "out", "--to", to});
    EXPECT_EQ(result.exit_code, code);
    EXPECT_THAT(result.err, HasSubstr(why));
  };
  fails("part-0009.csv", 66, "no window is part-0009.csv; the last is number 3, part-0003.csv");
  fails("5", 66, "no window is 5");
  for (const int64_t step : {3, 4}) {
    std::filesystem::remove_all(path(absl::StrCat("out/checkpoints/step-0000000", step)));
  }
  fails("1", kUsage,
        "no checkpoint in out/checkpoints is of step 4, where window 1 (part-0001.csv) began");
  fails("0", kUsage, "or a new output directory to begin anew");
  EXPECT_EQ(content_of("out"), content) << "nothing was removed";
  std::filesystem::remove(path("incoming/part-0003.csv"));
  EXPECT_THAT(millrace_ok({"rewind", "out", "--to", "3"}).out,
              HasSubstr("1 files of the windows behind it are not here"));
  EXPECT_EQ(millrace({"rewind", "nowhere", "--to", "0"}).exit_code, 66);
}

class StreamingRanksTest : public StreamingCase {
 protected:
  StreamingRanksTest() { write_job("", /*with_table=*/false); }
  ProgramResult launch(int ranks, std::vector<std::string> flags) const {
    flags.insert(flags.begin(),
                 {"launch", "-n", absl::StrCat(ranks), "--", "train", "job.textproto"});
    return millrace(std::move(flags));
  }
};

TEST_F(StreamingRanksTest, AnotherNumberOfRanksGoesOn) {
  for (int64_t file = 0; file < 4; ++file) produce(file);
  produce_end();
  const ProgramResult two = launch(2, {"--max_steps", "3"});
  ASSERT_EQ(two.exit_code, 0) << two.err;
  const ProgramResult three = launch(3, {});
  ASSERT_EQ(three.exit_code, 0) << three.err;
  EXPECT_EQ(trained("out"), produced(4));
  EXPECT_EQ(acknowledged("out"), (std::vector<int64_t>{0, 1, 2, 3}));
}

// The other ranks are between the same steps when the data of one rank fails.
TEST_F(StreamingRanksTest, RanksSaveTheLastStepIfTheDataOfOneFails) {
  write_job("files: 4");
  for (int64_t file = 0; file < 8; ++file) produce(file);
  write("incoming/part-0007.csv", read("incoming/part-0007.csv") + "oops,1,1,1\n");
  const ProgramResult result =
      launch(2, {"--set", "run.checkpoint.when.every_steps=1000", "--set",
                 "train.train_data.shuffle_rows=1", "--set", "run.read.prefetch_batches=1"});
  EXPECT_EQ(result.exit_code, kBadData) << result.err;
  EXPECT_THAT(result.err, testing::HasSubstr("the run failed; where it stood is in"));
  EXPECT_GT(newest_step("out"), 2 * kSteps) << "the end of the first window";
  EXPECT_EQ(millrace_ok({"checkpoint", "verify", "out"}).exit_code, 0);
}

// Also holds if a rank has no example of a window.
TEST_F(StreamingRanksTest, GoesOnFromEveryStep) {
  produce(0);
  write("incoming/part-0000z.csv", "label,i1,c1,id\n1,2,3,900\n0,1,5,901\n");
  produce(1);
  produce_end();
  ASSERT_EQ(launch(3, {"--output_dir", "whole", "--set",
                       "run.checkpoint={keep_last: 9 when {every_steps: 1}}"})
                .exit_code,
            0);
  const std::string content = content_of("whole");
  EXPECT_EQ(newest_step("whole"), 5);
  for (int64_t step = 1; step < 5; ++step) {
    const ProgramResult rest =
        launch(3, {"--resume", absl::StrCat("whole/checkpoints/step-0000000", step), "--output_dir",
                   absl::StrCat("from-", step)});
    ASSERT_EQ(rest.exit_code, 0) << rest.err;
    EXPECT_EQ(content_of(absl::StrCat("from-", step)), content) << "from step " << step;
  }
  // Epochs over the stream change nothing, also if the last step of a rank was padding.
  const std::vector<std::string> epochs = {"--set", "train.max_windows_per_epoch=1", "--max_epochs",
                                           "0"};
  const auto with_epochs = [&](int ranks, std::vector<std::string> flags) {
    flags.insert(flags.end(), epochs.begin(), epochs.end());
    return launch(ranks, std::move(flags));
  };
  const ProgramResult stopped = with_epochs(3, {"--output_dir", "epochs", "--max_steps", "3"});
  ASSERT_EQ(stopped.exit_code, 0) << stopped.err;
  const ProgramResult rest = with_epochs(3, {"--output_dir", "epochs"});
  ASSERT_EQ(rest.exit_code, 0) << rest.err;
  EXPECT_EQ(content_of("epochs"), content);
}

TEST_F(StreamingTest, EpochsOfAList) {
  for (int64_t file = 0; file < 3; ++file) produce(file);
  const auto list = [this](std::vector<std::string> flags) {
    flags.insert(flags.end(), {"--set",
                               "train.train_data={path: 'incoming/*' batch_size: 50 format: CSV "
                               "shuffle_rows: 300 windows {}}",
                               "--max_epochs", "2"});
    return run(std::move(flags));
  };
  const ProgramResult whole = list({"--output_dir", "whole"});
  ASSERT_EQ(whole.exit_code, 0) << whole.err;
  EXPECT_EQ(newest_step("whole"), 6 * kSteps);
  EXPECT_EQ(acknowledged("whole"), (std::vector<int64_t>{0, 1, 2, 3, 4, 5}));
  EXPECT_EQ(read_json_lines("whole/windows.jsonl")[0]["files"].size(), 0u) << "it is read again";
  EXPECT_EQ(read_json_lines("whole/windows.jsonl")[3]["files"].size(), 1u);
  ASSERT_EQ(list({"--output_dir", "parts", "--max_steps", "17"}).exit_code, 0);
  ASSERT_EQ(list({"--output_dir", "parts"}).exit_code, 0);
  EXPECT_EQ(content_of("parts"), content_of("whole"));
  const ProgramResult moved = list({"--output_dir", "m", "--set", "run.window_io.move_done_to=d"});
  EXPECT_EQ(moved.exit_code, kUsage);
  EXPECT_THAT(moved.err, HasSubstr("would move files that later epochs read"));
}

TEST_F(StreamingTest, LimitsInWindows) {
  for (int64_t file = 0; file < 5; ++file) produce(file);
  ASSERT_EQ(run({"--set", "train.max_windows=2"}).exit_code, 0);
  EXPECT_EQ(trained("out"), produced(2));
  ASSERT_EQ(run({"--set", "train.max_windows=4"}).exit_code, 0);
  EXPECT_EQ(trained("out"), produced(4)) << "a total over resumes";
  ASSERT_EQ(run({"--set", "train.max_windows=3", "--set", "train.max_steps_per_window=1",
                 "--output_dir", "short"})
                .exit_code,
            0);
  EXPECT_EQ(newest_step("short"), 3);
}

TEST_F(StreamingTest, EachWindowIsEvaluatedBeforeItIsTrained) {
  for (int64_t file = 0; file < 3; ++file) produce(file);
  produce_end();
  ASSERT_EQ(run({"--output_dir", "without"}).exit_code, 0);
  const ProgramResult result = run({"--set", "run.evaluation.progressive=true"});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  const auto lines = read_json_lines("out/metrics/eval.jsonl");
  ASSERT_EQ(lines.size(), 3u);
  for (int64_t window = 0; window < 3; ++window) {
    const auto& line = lines[static_cast<size_t>(window)];
    EXPECT_EQ(line["set"], "next_window");
    EXPECT_EQ(line["step"], window * kSteps);
    EXPECT_EQ(line["evaluated_examples"], kRows);
  }
  EXPECT_EQ(content_of("out"), content_of("without"));
  // A window that a run continues is not new.
  ASSERT_EQ(
      run({"--set", "run.evaluation.progressive=true", "--max_steps", "6", "--output_dir", "parts"})
          .exit_code,
      0);
  ASSERT_EQ(run({"--set", "run.evaluation.progressive=true", "--output_dir", "parts"}).exit_code,
            0);
  EXPECT_EQ(read_json_lines("parts/metrics/eval.jsonl").size(), 3u);
}

TEST_F(StreamingTest, PairedWindowsAreEvaluatedOneForEachOfTraining) {
  std::string job = read("job.textproto");
  job.insert(job.find("feature {"), R"(eval_data {
    name: "later"
    data { batch_size: 100 format: CSV windows { directory { path: "later" } } }
  }
  )");
  write("job.textproto", job);
  std::filesystem::create_directory(path("later"));
  for (int64_t file = 0; file < 5; ++file) produce(file);
  for (int64_t file = 10; file < 13; ++file) produce(file, "later");
  produce_end();
  // Training waits for the windows of the set; a stop ends this wait, too.
  RunningProgram program = start();
  ASSERT_TRUE(program.wait_for("waiting since"));
  program.send(SIGTERM);
  EXPECT_EQ(program.finish().exit_code, kRunAgain);
  EXPECT_EQ(newest_step("out"), 4 * kSteps);
  EXPECT_EQ(read_json_lines("out/metrics/eval.jsonl").size(), 3u);
  produce(13, "later");
  produce_end("later");
  const ProgramResult again = run();
  ASSERT_EQ(again.exit_code, 0) << again.err;
  EXPECT_THAT(again.err, HasSubstr("the windows of evaluation set later have ended"));
  const auto lines = read_json_lines("out/metrics/eval.jsonl");
  ASSERT_EQ(lines.size(), 4u);
  for (int64_t window = 0; window < 4; ++window) {
    const auto& line = lines[static_cast<size_t>(window)];
    EXPECT_EQ(line["set"], "later");
    EXPECT_EQ(line["step"], (window + 1) * kSteps);
    EXPECT_EQ(line["evaluated_examples"], kRows);
  }
  EXPECT_EQ(trained("out"), produced(5)) << "the window that found none is trained on";
}

TEST_F(StreamingTest, FilesMoveWhenNoCheckpointNeedsThem) {
  for (int64_t file = 0; file < 6; ++file) produce(file);
  produce_end();
  ASSERT_EQ(run({"--set", "run.window_io.move_done_to=done", "--set",
                 "run.checkpoint={keep_last: 2 when: {every_windows: 1}}"})
                .exit_code,
            0);
  EXPECT_TRUE(exists("done/part-0000.csv"));
  EXPECT_TRUE(exists("done/part-0003.csv"));
  EXPECT_TRUE(exists("incoming/part-0005.csv")) << "the newest but one checkpoint lacks it";
  EXPECT_EQ(trained("out"), produced(6));
}

TEST_F(StreamingTest, NamedErrors) {
  produce(1);
  RunningProgram program = start();
  ASSERT_TRUE(program.wait_for("waiting since"));
  produce(0);
  const ProgramResult late = program.finish();
  EXPECT_EQ(late.exit_code, kBadData);
  EXPECT_THAT(late.err, HasSubstr("incoming/part-0000.csv came late"));
  std::filesystem::remove(path("incoming/part-0000.csv"));
  RunningProgram again = start();
  ASSERT_TRUE(again.wait_for("waiting since"));
  std::filesystem::rename(path("incoming"), path("elsewhere"));
  const ProgramResult gone = again.finish();
  EXPECT_EQ(gone.exit_code, kNoInput);
  EXPECT_THAT(gone.err, HasSubstr("incoming"));
  const ProgramResult wrong = run({"--set", "train.train_data.windows.repeat=0"});
  EXPECT_EQ(wrong.exit_code, kUsage);
  EXPECT_THAT(wrong.err, HasSubstr("train.train_data.windows: repeat is 0"));
}

TEST_F(StreamingTest, DamagedWindowsAreLeftOutAndSaidSo) {
  produce(0);
  write("incoming/part-0001.csv", "other\n1\n");
  produce(2);
  produce_end();
  EXPECT_EQ(run({"--output_dir", "fails"}).exit_code, kUsage);
  const ProgramResult result =
      run({"--set", "train.train_data.bad_data=SKIP", "--summary", "summary.json"});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.err, HasSubstr("window 1 (part-0001.csv) is left out"));
  EXPECT_EQ(nlohmann::json::parse(read("summary.json"))["damaged_windows"], 1);
  auto expected = produced(3);
  expected.erase(1);
  EXPECT_EQ(trained("out"), expected);
  EXPECT_THAT(read_json_lines("out/windows.jsonl")[1]["damage"].get<std::string>(),
              HasSubstr("part-0001.csv"));
}

}  // namespace
}  // namespace millrace
