#include "tools/output/run_outputs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "base/clock.h"
#include "base/status_matchers.h"
#include "checkpoint/folder/directory_lock.h"
#include "io/transform/transform_registry.h"
#include "proto/config_reader.h"
#include "tests/io_testing/data_files.h"

namespace millrace {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::IsSupersetOf;
using ::testing::Not;

// A transform that reads a file.
class Lookup : public Transform {
 public:
  Takes takes() const override { return Takes::kIntegers; }
  std::vector<std::string> files() const override { return {"rates.txt"}; }
  absl::Status apply(const FeatureInput&, FeatureValues*) const override {
    return absl::OkStatus();
  }
};
MILLRACE_REGISTER_TRANSFORM(lookup, "",
                            [](const CustomConfig&) { return std::make_unique<Lookup>(); });

TrainConfig parse(const std::string& text) {
  TrainConfig config;
  EXPECT_OK(parse_text(text, "test", &config));
  return config;
}

class RunInputsTest : public testing::Test {
 protected:
  void SetUp() override { std::filesystem::current_path(fresh_test_dir()); }
  void touch(const std::string& path) {
    ASSERT_OK(FileSystem::local().create_directories(directory_of(path)));
    ASSERT_OK(write_file_atomically(FileSystem::local(), path, "x"));
  }
  std::vector<std::string> paths(const TrainConfig& config) {
    std::vector<std::string> paths;
    for (const RunInput& input : run_inputs(FileSystem::local(), "job.textproto", config)) {
      paths.push_back(input.path);
    }
    return paths;
  }
};

TEST_F(RunInputsTest, FilesOfRegisteredTransforms) {
  const std::vector<RunInput> inputs = run_inputs(FileSystem::local(), "job.textproto", parse(R"(
        feature { name: "a" transform { custom { name: "lookup" } } }
        feature { name: "b" transform { custom { name: "unknown" } } })"));
  ASSERT_EQ(inputs.size(), 2);
  EXPECT_EQ(inputs[1].path, "rates.txt");
  EXPECT_EQ(inputs[1].what, "a file of the transform \"lookup\" of train.feature \"a\"");
}

TEST_F(RunInputsTest, WhateverNamesAFile) {
  touch("t/a.orc");
  touch("t/b.orc");
  const TrainConfig config = parse(R"(
    train_data { path: "t/*.orc" path: "s3://bucket/c.orc"
                 mix { source { data { path: "m.orc" } } } }
    eval_data { name: "fresh" data { path: "e.orc" } }
    feature { name: "c" transform { vocabulary { path: "words" } } }
    model_bank { source { path: "rows.txt" } }
    initialize_from: "other")");
  EXPECT_THAT(paths(config), ElementsAre("job.textproto", "t/a.orc", "t/b.orc", "m.orc", "e.orc",
                                         "words", "rows.txt", "other"));
  const std::vector<RunInput> inputs = run_inputs(FileSystem::local(), "job.textproto", config);
  EXPECT_EQ(inputs[0].what, "the configuration");
  EXPECT_EQ(inputs[1].what, "a file of train.train_data");
  EXPECT_EQ(inputs[4].what, "a file of train.eval_data \"fresh\"");
  EXPECT_EQ(inputs[5].what, "the vocabulary of train.feature \"c\"");
  const std::vector<RunInput> named =
      run_inputs(FileSystem::local(), "job.textproto", config,
                 {.train_data = "--train_data", .eval_data = "--data"});
  EXPECT_EQ(named[1].what, "a file of --train_data");
  EXPECT_EQ(named[4].what, "a file of --data");
}

TEST_F(RunInputsTest, WhatIsWhereWindowsAppear) {
  touch("d/part-1.csv");
  touch("d/notes.txt");
  EXPECT_THAT(
      paths(parse(R"(train_data { windows { directory { path: "d" pattern: "*.csv" } } })")),
      ElementsAre("job.textproto", "d/part-1.csv"));
  touch("logs/dt=20260131/hh=01/a.orc");
  touch("logs/dt=20260131/b.orc");
  EXPECT_THAT(paths(parse(R"(train_data { windows { time { path: "logs/dt=%Y%m%d/hh=%H"
                                                           pattern: "*.orc" } } })")),
              IsSupersetOf({"logs/dt=20260131/b.orc", "logs/dt=20260131/hh=01/a.orc"}));
}

TEST_F(RunInputsTest, WhatTheRunItselfWrites) {
  RunConfig run;
  run.set_output_dir("o");
  std::vector<std::string> paths;
  for (const RunInput& output : run_outputs(run)) paths.push_back(output.path);
  EXPECT_THAT(paths, IsSupersetOf({"o/config.textproto", "o/events.jsonl", "o/lock"}));
}

TEST_F(RunInputsTest, SinksAndHooksReplaceNoInput) {
  for (const char* name :
       {"data/train.csv", "data/rank-1/eval.csv", "words", "tb/projector_a.tsv"}) {
    touch(std::string("o[1]/") + name);
  }
  struct Case {
    std::string path, run, field;  // field: "" if the file stays
  };
  for (const Case& c : {
           Case{"data/train.csv", R"(sink { prometheus {} } sink { csv { directory: "data" } })",
                "run.sink[1]"},
           Case{"data/train.csv", R"(sink { csv { directory: "other" } })", ""},
           Case{"data/rank-1/eval.csv", R"(sink { csv { directory: "data" } ranks: ALL })",
                "run.sink[0]"},
           Case{"words", R"(hooks { name: "mllog" [millrace.mllog] { file: "words" } })",
                "run.hooks[0]"},
           Case{"tb/projector_a.tsv",
                R"(hooks { name: "embedding_projector"
                           [millrace.embedding_projector] { directory: "tb" } })",
                "run.hooks[0]"},
       }) {
    JobConfig job;
    ASSERT_OK(parse_text("run { output_dir: 'o[1]' " + c.run + " }", "test", &job));
    job.mutable_train()->mutable_train_data()->add_path("./o[1]/" + c.path);
    const absl::Status status = check_written_files(FileSystem::local(), "job.textproto", job);
    if (c.field.empty()) {
      EXPECT_OK(status) << c.path;
    } else {
      EXPECT_THAT(status, StatusIs(absl::StatusCode::kInvalidArgument,
                                   AllOf(HasSubstr(c.field + ": cannot write o[1]/" + c.path),
                                         HasSubstr("a file of train.train_data"))));
    }
  }
}

TEST_F(RunInputsTest, PathsThatAShellShouldHaveExpanded) {
  FileSystem& files = FileSystem::local();
  EXPECT_THAT(check_input_paths(files, parse(R"(train_data { path: "~/data/*.orc" })")),
              StatusIs(absl::StatusCode::kNotFound,
                       AllOf(HasSubstr("train.train_data"), HasSubstr("\"~/data/*.orc\""),
                             HasSubstr("only a shell replaces ~"))));
  EXPECT_THAT(check_input_paths(files, parse(R"(initialize_from: "$HOME/run")")).message(),
              HasSubstr("$HOME"));
  EXPECT_OK(check_input_paths(files, parse(R"(train_data { path: "none.orc" })")))
      << "that it is missing is said by who reads it";
  EXPECT_THAT(check_input_paths(files, parse(R"(eval_data { data { path: "~/e.orc" } })"),
                                {.eval_data = "--data"}),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("a file of --data is missing")));
  touch("~/data/a.orc");
  EXPECT_OK(check_input_paths(files, parse(R"(train_data { path: "~/data/*.orc" })")));
}

namespace fs = std::filesystem;

class RunDirectoryTest : public testing::Test {
 protected:
  void write(const std::string& name, const std::string& content = "mine") {
    const std::string path = join_path(folder_, name);
    ASSERT_OK(files_.create_directories(directory_of(path)));
    ASSERT_OK(write_file_atomically(files_, path, content));
  }
  absl::Status check(bool overwrite = false) {
    return check_run_directory(files_, folder_, overwrite);
  }

  FileSystem& files_ = FileSystem::local();
  const std::string folder_ = fresh_test_dir();
};

TEST_F(RunDirectoryTest, OneThatIsMissingOrHoldsNothing) {
  EXPECT_OK(check_run_directory(files_, folder_ + "/none", false));
  EXPECT_OK(check());
  fs::create_directories(folder_ + "/logs");
  fs::create_directories(folder_ + "/checkpoints");
  write("lock", "");
  write("checkpoints/lock", "");
  EXPECT_OK(check()) << "as a run leaves it that is killed as it begins";
  EXPECT_FALSE(is_run_directory(files_, folder_));
}

TEST_F(RunDirectoryTest, CheckpointsMayBeALinkToAnEmptyFolder) {
  const std::string disk = folder_ + "_disk";
  fs::remove_all(disk);
  fs::create_directories(disk);
  fs::create_directories(folder_);
  fs::create_directory_symlink(disk, folder_ + "/checkpoints");
  EXPECT_OK(check());
  std::ofstream(disk + "/file") << "x";
  EXPECT_EQ(check().code(), absl::StatusCode::kPermissionDenied);
}

TEST_F(RunDirectoryTest, FilesOfOthersAreNamed) {
  for (const char* name : {"config.textproto", "events.jsonl", "lock", "metrics/train.jsonl",
                           "summary.json", "part-0.parquet", ".hidden"}) {
    fs::remove_all(folder_);
    write(name);
    EXPECT_THAT(check(),
                StatusIs(absl::StatusCode::kPermissionDenied,
                         AllOf(HasSubstr("output_dir " + folder_),
                               HasSubstr(folder_ + "/" +
                                         std::string(name).substr(0, std::string(name).find('/'))),
                               HasSubstr("--output_dir"), HasSubstr("--overwrite"))));
    EXPECT_OK(check(/*overwrite=*/true));
  }
}

TEST_F(RunDirectoryTest, SomeOfManyAreNamed) {
  for (const char* name : {"a", "b", "c", "d", "e"}) write(name);
  EXPECT_THAT(check().message(),
              AllOf(HasSubstr("/a, "), HasSubstr("/c and 2 more"), Not(HasSubstr(folder_ + "/d"))));
}

TEST_F(RunDirectoryTest, ALockSaysThatItIsARuns) {
  write("a");
  { ASSERT_OK_AND_ASSIGN(const auto lock, DirectoryLock::acquire(files_, folder_, Clock::real())); }
  EXPECT_TRUE(is_run_directory(files_, folder_));
  EXPECT_OK(check());
}

TEST_F(RunDirectoryTest, SoDoesACheckpoint) {
  write("config.textproto");
  write("checkpoints/step-00000010/notes");
  EXPECT_FALSE(check().ok()) << "it is none";
  write("checkpoints/step-00000010/manifest.json", "{}");
  EXPECT_OK(check());
}

TEST_F(RunDirectoryTest, ASummaryOfAFailedRunIsNothingToLose) {
  write("s.json", R"({"outcome": "failed", "stop_reason": "", "error": "x", "steps": 0,
                      "examples": 0, "checkpoint": ""})");
  EXPECT_OK(check());
}

}  // namespace
}  // namespace millrace
