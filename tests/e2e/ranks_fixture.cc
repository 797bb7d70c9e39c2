#include "tests/e2e/ranks_fixture.h"

#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>
#include <thread>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"

namespace millrace {
namespace {

constexpr char kRanksJob[] = R"(
train {
  train_data { path: "$DATA/part-*.parquet" batch_size: 50 shuffle_rows: 1000 }
  eval_data { data { path: "$DATA/eval.parquet" batch_size: 200 } }
  feature { name: "label" kind: LABEL }
  feature { name: "i{1..13}" kind: DENSE default_value: 0 transform { log1p {} } }
  model { name: "mlp" [millrace.mlp] { hidden: [8] } }
}
run {
  output_dir: "out"
  threads: 1
  report { when { every_steps: 10 at_end: true } }
  distributed { rendezvous_timeout_seconds: 20 collective_timeout_seconds: 5 }
}
)";

// Such files report a size of 0.
std::string proc_file(pid_t process, const std::string& name) {
  std::ifstream stream(absl::StrCat("/proc/", process, "/", name));
  // Does not use iterators of a buffer, which throw if the process ends during the read.
  std::stringstream text;
  text << stream.rdbuf();
  return text.str();
}

// Reads the number behind the name, which may contain any characters, and the state.
pid_t parent_of(pid_t process) {
  const std::string status = proc_file(process, "stat");
  const std::vector<std::string> fields =
      absl::StrSplit(status.substr(std::min(status.size(), status.rfind(')') + 1)), ' ');
  pid_t parent = 0;
  return fields.size() > 2 && absl::SimpleAtoi(fields[2], &parent) ? parent : 0;
}

}  // namespace

std::string RanksTest::data_;

std::optional<pid_t> process_of_rank(pid_t launcher, int rank) {
  for (const auto& entry : std::filesystem::directory_iterator("/proc")) {
    pid_t process = 0;
    if (!absl::SimpleAtoi(entry.path().filename().string(), &process) || process <= 1) continue;
    if (launcher <= 1 || parent_of(process) != launcher) continue;
    for (absl::string_view variable : absl::StrSplit(proc_file(process, "environ"), '\0')) {
      if (variable == absl::StrCat("RANK=", rank)) return process;
    }
  }
  ADD_FAILURE() << "rank " << rank << " is not among the children of " << launcher;
  return std::nullopt;
}

void send_to_rank(pid_t launcher, int rank, int signal) {
  const std::optional<pid_t> process = process_of_rank(launcher, rank);
  if (!process.has_value()) return;
  EXPECT_EQ(::kill(*process, signal), 0);
}

bool is_running(pid_t process) {
  const std::string status = proc_file(process, "stat");
  return !status.empty() && status.substr(status.rfind(')') + 2, 1) != "Z";
}

bool ends_soon(pid_t process) {
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  while (is_running(process) && std::chrono::steady_clock::now() < deadline) {
    std::this_thread::yield();
  }
  return !is_running(process);
}

void RanksTest::SetUpTestSuite() {
  data_ = testing::TempDir() + "/data";
  const ProgramResult result =
      run_program({millrace_path(), "generate", "--output_dir", data_, "--rows", "2000",
                   "--eval_rows", "500", "--files", "4"});
  ASSERT_EQ(result.exit_code, 0) << result.err;
}

RanksTest::RanksTest() {
  write("job.textproto", absl::StrReplaceAll(kRanksJob, {{"$DATA", data_}}));
}

RunningProgram RanksTest::rank(int rank, int world_size, int port,
                               std::vector<std::string> arguments, const std::string& command,
                               std::chrono::seconds timeout) const {
  arguments.insert(arguments.begin(),
                   {"/usr/bin/env", absl::StrCat("RANK=", rank),
                    absl::StrCat("WORLD_SIZE=", world_size), "MASTER_ADDR=127.0.0.1",
                    absl::StrCat("MASTER_PORT=", port), millrace_path(), command, "job.textproto"});
  return RunningProgram(std::move(arguments), {.directory = path(""), .timeout = timeout});
}

RunningProgram RanksTest::launch(int ranks, std::vector<std::string> arguments,
                                 std::chrono::seconds timeout) const {
  arguments.insert(arguments.begin(), {millrace_path(), "launch", "-n", absl::StrCat(ranks), "--",
                                       "train", "job.textproto"});
  return RunningProgram(std::move(arguments), {.directory = path(""), .timeout = timeout});
}

}  // namespace millrace
