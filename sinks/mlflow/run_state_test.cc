#include "sinks/mlflow/run_state.h"

#include <vector>

#include "base/memory_file_system_testing.h"
#include "base/recording_file_system_testing.h"
#include "base/status_matchers.h"

namespace millrace {
namespace {

constexpr char kPath[] = "out/run.json";

class RunStateTest : public testing::Test {
 protected:
  RunStateTest() { EXPECT_OK(files_.create_directories("out")); }
  MlflowRunState load(const std::string& uri = "uri", const std::string& experiment = "e") {
    const auto state = load_run_state(files_, kPath, uri, experiment, 7);
    EXPECT_OK(state.status());
    return state.value_or(MlflowRunState());
  }
  MemoryFileSystem files_;
};

TEST_F(RunStateTest, ANewRun) {
  const MlflowRunState state = load();
  EXPECT_EQ(state.run_id, "");
  EXPECT_EQ(state.start_ms, 7);
  EXPECT_EQ(state.tag.size(), 32);
  EXPECT_FALSE(state.params_logged);
  EXPECT_NE(load().tag, state.tag);
}

TEST_F(RunStateTest, ReadsBack) {
  MlflowRunState state = load();
  state.run_id = "run";
  state.experiment_id = "3";
  state.start_ms = 1795773801243;
  state.params_logged = true;
  state.sent = {{"train.jsonl", {.begin = 20, .end = 30, .checksum = 4294967295}},
                {"eval.jsonl", {}}};
  state.own_rows = true;
  state.finished = true;
  EXPECT_OK(save_run_state(files_, kPath, state));
  EXPECT_EQ(load(), state);
  EXPECT_EQ(load("uri", "other").run_id, "");
  EXPECT_EQ(load("other", "e").run_id, "");
}

TEST_F(RunStateTest, TheNameOfTheFileIsDurable) {
  RecordingFileSystem files(files_);
  EXPECT_OK(save_run_state(files, kPath, MlflowRunState()));
  const std::vector<FileOperation> operations = files.operations();
  ASSERT_GE(operations.size(), 2);
  EXPECT_EQ(operations[operations.size() - 2].kind, FileOperation::Kind::kRename);
  EXPECT_EQ(operations.back().kind, FileOperation::Kind::kSyncDirectory);
  EXPECT_EQ(operations.back().path, "out");
}

TEST_F(RunStateTest, AMalformedFileIsANewRun) {
  for (const char* text : {"", "{", "[]", "{}", R"({"tracking_uri": "uri", "experiment": "e"})",
                           R"({"tracking_uri": 1, "experiment": 2, "tag": 3})"}) {
    files_.put(kPath, text);
    EXPECT_EQ(load().run_id, "") << text;
    EXPECT_EQ(load().tag.size(), 32) << text;
  }
  files_.put(kPath, R"({"tracking_uri": "uri", "experiment": "e", "tag": "t", "run_id": 1,
                        "start_ms": "x", "params_logged": 1, "own_rows": "x",
                        "sent": {"train": 30, "train.jsonl": {"begin": 9, "end": 3}}})");
  EXPECT_EQ(load(), (MlflowRunState{.tracking_uri = "uri",
                                    .experiment = "e",
                                    .tag = "t",
                                    .run_id = "",
                                    .experiment_id = "",
                                    .start_ms = 7,
                                    .sent = {{"train.jsonl", {}}}}));
}

}  // namespace
}  // namespace millrace
