// Tests of /healthz and of `millrace status` with runs that wait, hang and end.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/clock.h"
#include "base/http/http_client.h"
#include "distributed/process_ranks_testing.h"
#include "tests/e2e/program_test.h"

namespace millrace {
namespace {

using ::testing::HasSubstr;
using Json = nlohmann::json;

constexpr char kJob[] = R"(
train {
  train_data { batch_size: 20 $DATA }
  feature { name: "label" kind: LABEL }
  feature { name: "x" kind: DENSE }
  model { name: "mlp" [millrace.mlp] { hidden: [4] } }
  $TRAIN
}
run {
  output_dir: "out"
  threads: 1
  report { tensorboard: false }
  distributed { poll_interval_seconds: 0.02 }
  health { step_seconds: 0.5 data_seconds: 0.5 }
}
)";

class HealthEndToEndTest : public ProgramTest {
 protected:
  HealthEndToEndTest() {
    std::string rows = "label,x\n";
    for (int row = 0; row < 200; ++row) absl::StrAppend(&rows, row % 2, ",", row % 7, "\n");
    write("data.csv", rows);
  }

  // Returns the command that trains with these fields of train_data and train. The sink comes on
  // the command line, as in the manifests of Kubernetes.
  std::vector<std::string> command(const std::string& program, const std::string& data,
                                   const std::string& train = "") const {
    std::string job = kJob;
    job.replace(job.find("$DATA"), 5, data);
    job.replace(job.find("$TRAIN"), 6, train);
    write("job.textproto", job);
    return {program, "train", "job.textproto", "--set",
            absl::StrCat("run.sink=[{prometheus {port: ", port_.number,
                         " port_by_local_rank: true} ranks: ALL}]")};
  }
  // Asks until the endpoint answers with `status` and `text`. Fails after 40 s.
  void expect_health(unsigned status, const std::string& text) const {
    const HttpClient client({.host = "127.0.0.1", .port = port_.number},
                            {.timeout = absl::Seconds(10)});
    const absl::Duration end = Clock::real().elapsed() + absl::Seconds(40);
    std::string last;
    while (Clock::real().elapsed() < end) {
      const auto response = client.send({.method = "GET", .target = "/healthz"});
      if (response.ok()) {
        last = absl::StrCat(response->status, " ", response->body);
        if (response->status == status && last.find(text) != std::string::npos) return;
      }
      Clock::real().sleep(absl::Milliseconds(20));
    }
    ADD_FAILURE() << "expected " << status << " with \"" << text << "\"; the last reply was "
                  << last;
  }
  // Reads the status until its field has this value. Fails after 40 s.
  Json await_status(const char* field, const Json& value) const {
    const absl::Duration end = Clock::real().elapsed() + absl::Seconds(40);
    Json status;
    while (Clock::real().elapsed() < end) {
      const ProgramResult result = millrace({"status", "out", "--json"});
      if (result.exit_code == 0) status = Json::parse(result.out);
      if (result.exit_code == 0 && status[field] == value) return status;
      Clock::real().sleep(absl::Milliseconds(50));
    }
    ADD_FAILURE() << field << " is never " << value << " in " << status;
    return status;
  }
  static std::string test_program(const char* name) {
    return std::filesystem::absolute(absl::StrCat("tests/e2e/", name)).string();
  }

  const ReservedPort port_ = free_port();
  const ProgramOptions options_{.directory = path(""), .timeout = std::chrono::seconds(90)};
};

TEST_F(HealthEndToEndTest, AWaitForAWindowIsHealthyAndEndsStopped) {
  EXPECT_EQ(millrace({"status", "out"}).exit_code, kNoInput);
  std::filesystem::create_directory(path("incoming"));
  std::filesystem::copy(path("data.csv"), path("incoming/part-0.csv"));
  RunningProgram run(
      command(millrace_path(), "format: CSV windows { directory { path: \"incoming\" } }"),
      options_);
  Json status = await_status("phase", "window wait");
  EXPECT_EQ(status["state"], "running");
  EXPECT_EQ(status["window"], 1);
  EXPECT_EQ(status["step"], 10);
  EXPECT_EQ(status["process"], run.process());
  EXPECT_THAT(status["checkpoint"].get<std::string>(), HasSubstr("step-00000010"));
  // Longer than the limits of steps and data.
  while (status["seconds"] < 1) {
    status = await_status("phase", "window wait");
    ASSERT_EQ(status["phase"], "window wait") << status;
  }
  expect_health(200, "ok: window wait of step 10");
  run.send(SIGTERM);
  EXPECT_EQ(run.finish().exit_code, kRunAgain);
  EXPECT_EQ(await_status("state", "stopped")["stop_reason"], "signal SIGTERM");
  EXPECT_THAT(millrace_ok({"status", "out"}).out,
              HasSubstr("stopped (signal SIGTERM): step 10, 0 epochs and 1 window finished"));
}

TEST_F(HealthEndToEndTest, AHookThatHangsIsUnhealthyAndMayBeKilled) {
  RunningProgram run(
      command(test_program("faulty_job"), "path: \"data.csv\"",
              "hooks { name: \"faulty\" [millrace.faulty_hook] { place: BETWEEN_STEPS kind: LOOP "
              "rank: 0 step: 3 } }"),
      options_);
  expect_health(503, "limit run.health.step_seconds 0.5; phase between steps of step 3");
  const Json status = await_status("healthy", false);
  EXPECT_EQ(status["state"], "running");
  EXPECT_EQ(status["phase"], "between steps");
  EXPECT_THAT(status["health"].get<std::string>(), HasSubstr("no step for "));
  EXPECT_EQ(millrace({"launch", "-n", "2", "--", "status", "out"}).exit_code, kUsage);
  run.send(SIGKILL);
  run.finish();
  EXPECT_EQ(await_status("state", "killed")["error"], "");
}

TEST_F(HealthEndToEndTest, DataThatHangsIsUnhealthy) {
  RunningProgram run(
      command(test_program("stalled_job"),
              absl::StrCat("path: [\"data.csv\", \"stalled://rank0", path("data.csv"), "\"]")),
      options_);
  expect_health(503, "limit run.health.data_seconds 0.5; phase data of step 9");
  run.send(SIGTERM);
  EXPECT_EQ(run.finish().exit_code, kRunAgain);
}

TEST_F(HealthEndToEndTest, AnswersWhileItWaitsForOtherRanks) {
  const ReservedPort master = free_port();
  std::vector<std::string> line = {
      "/usr/bin/env", "WORLD_SIZE=2",          "RANK=1",
      "LOCAL_RANK=0", "MASTER_ADDR=127.0.0.1", absl::StrCat("MASTER_PORT=", master.number)};
  for (const std::string& word : command(millrace_path(), "path: \"data.csv\"")) {
    line.push_back(word);
  }
  RunningProgram run(line, options_);
  expect_health(200, "ok: rendezvous of step 0, loading for ");
  run.send(SIGKILL);
  run.finish();
}

TEST_F(HealthEndToEndTest, StatusOfRunsThatEnded) {
  std::vector<std::string> line =
      command(test_program("faulty_job"), "path: \"data.csv\"",
              "hooks { name: \"faulty\" [millrace.faulty_hook] { place: BETWEEN_STEPS kind: ERROR "
              "rank: 0 step: 3 } }");
  EXPECT_NE(run_program(line, options_).exit_code, 0);
  const Json failed = await_status("state", "failed");
  EXPECT_THAT(failed["error"].get<std::string>(), HasSubstr("planted error"));
  std::filesystem::remove_all(path("out"));
  line = command(millrace_path(), "path: \"data.csv\"");
  EXPECT_EQ(run_program(line, options_).exit_code, 0);
  const Json completed = await_status("state", "completed");
  EXPECT_EQ(completed["step"], 10);
  EXPECT_EQ(completed["checkpoint_step"], 10);
  EXPECT_EQ(completed["seconds"], nullptr);
}

}  // namespace
}  // namespace millrace
