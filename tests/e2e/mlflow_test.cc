// Tests that a real MLflow server shows the metrics of runs. MILLRACE_MLFLOW names the program,
// which `./bazelw test_setup` provides.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/http/certificate_testing.h"
#include "distributed/process_ranks_testing.h"
#include "tests/e2e/program_test.h"
#include "tests/environment/skip.h"

namespace millrace {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using Json = nlohmann::json;
// Steps and values.
using Curve = std::vector<std::pair<int64_t, double>>;

// An import of mlflow takes less, even on a busy machine.
constexpr std::chrono::seconds kTimeout{200};

constexpr char kCertificate[] = "MLFLOW_TRACKING_SERVER_CERT_PATH";

constexpr char kJob[] = R"(
  train {
    generated_data { directory: "data" rows: 400 eval_rows: 100 }
    train_data { batch_size: 50 }
    feature { name: "label" kind: LABEL }
    feature { name: "i{1..2}" kind: DENSE default_value: 0 }
    feature { name: "c{1..2}" }
    table { name: "c{1..2}" dim: 4 }
    model { name: "deepfm" }
    max_steps: 4
    max_epochs: 0
  }
  run {
    output_dir: "out"
    threads: 1
    report { when { every_steps: 2 } }
    checkpoint { when { every_steps: 200 at_end: true } }
  })";

class MlflowTest : public ProgramTest {
 protected:
  void SetUp() override {
    if (std::getenv("MILLRACE_MLFLOW") == nullptr) {
      GTEST_SKIP() << skip_not_provided("MILLRACE_MLFLOW", "./bazelw test_setup provides it");
    }
    for (const auto& [name, value] : std::vector<std::pair<const char*, std::string>>{
             {"HOME", path("")},
             {"DO_NOT_TRACK", "true"},
             {"MLFLOW_DISABLE_TELEMETRY", "true"},
             {"MLFLOW_SERVER_ENABLE_JOB_EXECUTION", "false"},
             {"no_proxy", "127.0.0.1"}}) {
      ::setenv(name, value.c_str(), 1);
    }
    write("job.textproto", kJob);
  }
  void TearDown() override {
    if (server_ == nullptr) return;
    ::kill(-server_->process(), SIGKILL);
    server_->finish();
  }

  std::string uri() const {
    return absl::StrCat(tls_ ? "https" : "http", "://127.0.0.1:", port_.number);
  }
  static std::string python() {
    return std::filesystem::path(std::getenv("MILLRACE_MLFLOW")).replace_filename("python3");
  }

  // Gives the server a certificate, which Millrace and MLflow's own client trust from now on.
  void use_tls() {
    const TestCertificate own = make_test_certificate();
    write("own.pem", own.certificate);
    write("own.key", own.key);
    ::setenv(kCertificate, path("own.pem").c_str(), 1);
    tls_ = true;
  }

  // Starts the server, in a separate process group because it has children.
  void start_server() {
    const std::string tls =
        tls_ ? absl::StrCat(" --certfile ", path("own.pem"), " --keyfile ", path("own.key")) : "";
    const std::string start =
        "import os, sys; os.setpgid(0, 0); os.execv(sys.argv[1], sys.argv[1:])";
    server_ = std::make_unique<RunningProgram>(
        std::vector<std::string>{python(), "-c", start, std::getenv("MILLRACE_MLFLOW"), "server",
                                 "--backend-store-uri", "sqlite:///" + path("runs.db"),
                                 "--default-artifact-root", path("artifacts"), "--host",
                                 "127.0.0.1", "--port", absl::StrCat(port_.number), "--workers",
                                 "1", "--gunicorn-opts", "--no-control-socket" + tls},
        ProgramOptions{.directory = path(""), .timeout = kTimeout});
    ASSERT_TRUE(server_->wait_for("Listening at"));
  }

  std::vector<std::string> train(std::vector<std::string> flags = {}) const {
    flags.insert(flags.begin(), {"train", "job.textproto", "--set",
                                 absl::StrCat("run.sink=[{mlflow {tracking_uri: \"", uri(),
                                              "\" experiment: \"e\" timeout_seconds: 60}}]")});
    return flags;
  }

  // Returns the only run of the server.
  Json shown() const {
    const std::string script = std::filesystem::absolute("tests/e2e/read_mlflow.py");
    const ProgramResult result =
        run_program({python(), script, uri(), "e"}, {.directory = path(""), .timeout = kTimeout});
    EXPECT_EQ(result.exit_code, 0) << result.err;
    const Json runs = Json::parse(result.out, nullptr, /*allow_exceptions=*/false);
    EXPECT_EQ(runs.size(), 1) << result.out;
    return runs.is_array() && runs.size() == 1 ? runs[0] : Json::object();
  }

  static Curve curve_of(const Json& run, const std::string& metric) {
    Curve curve;
    for (const Json& point : run["metrics"].value(metric, Json::array())) {
      curve.emplace_back(point[0], point[1]);
    }
    return curve;
  }
  // Returns the same from a file of the run.
  Curve written(const std::string& file, const std::string& metric) const {
    Curve curve;
    for (const Json& line : read_json_lines(file)) {
      curve.emplace_back(line["step"], line["metrics"][metric]);
    }
    return curve;
  }
  // Blocks until the file of reports has the step. Returns false after kTimeout.
  bool wait_until_reported(int64_t step) const {
    const std::string text = absl::StrCat("\"step\":", step, ",");
    const auto deadline = std::chrono::steady_clock::now() + kTimeout;
    while (read("out/metrics/train.jsonl").find(text) == std::string::npos) {
      if (std::chrono::steady_clock::now() > deadline) return false;
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    return true;
  }
  void expect_curves(const Json& run) const {
    for (const std::string metric : {"loss", "auc"}) {
      EXPECT_EQ(curve_of(run, "train/" + metric), written("out/metrics/train.jsonl", metric));
      EXPECT_EQ(curve_of(run, "eval/" + metric), written("out/metrics/eval.jsonl", metric));
    }
  }

  bool tls_ = false;
  const ReservedPort port_ = free_port();
  std::unique_ptr<RunningProgram> server_;
};

TEST_F(MlflowTest, ShowsReportsEvaluationsAndTheConfiguration) {
  start_server();
  const ProgramResult result = millrace_ok(train(), kTimeout);
  EXPECT_THAT(result.err, HasSubstr("MLflow shows this run at " + uri()));
  EXPECT_THAT(result.err, Not(HasSubstr("reports wait in")));
  const Json run = shown();
  EXPECT_EQ(run["name"], "out");
  EXPECT_EQ(run["status"], "FINISHED");
  EXPECT_EQ(run["params"]["train.max_steps"], "4");
  EXPECT_EQ(run["params"]["train.train_data.batch_size"], "50");
  EXPECT_EQ(curve_of(run, "train/loss").size(), 2);
  EXPECT_EQ(curve_of(run, "eval/auc").size(), 1);
  EXPECT_EQ(curve_of(run, "train/table/c1/rows").size(), 2);
  expect_curves(run);
}

TEST_F(MlflowTest, TheServerMayHaveTls) {
  use_tls();
  start_server();
  millrace_ok(train(), kTimeout);
  const Json run = shown();
  ::unsetenv(kCertificate);
  EXPECT_EQ(run["status"], "FINISHED");
  expect_curves(run);
  const ProgramResult refused = millrace_ok(train({"--set", "run.output_dir=\"other\""}), kTimeout);
  EXPECT_THAT(refused.err, HasSubstr("the certificate of 127.0.0.1 is refused: self-signed"));
}

TEST_F(MlflowTest, AKilledRunContinues) {
  start_server();
  {
    std::vector<std::string> arguments = train({"--set", "train.max_steps=100000"});
    arguments.insert(arguments.begin(), millrace_path());
    RunningProgram program(arguments, {.directory = path(""), .timeout = kTimeout});
    ASSERT_TRUE(program.wait_for("saved out/checkpoints/step-00000200"));
    // Kills the run before the next checkpoint, so that the next run repeats steps.
    ASSERT_TRUE(wait_until_reported(230));
    program.send(SIGKILL);
    program.finish();
  }
  const int64_t last = read_json_lines("out/metrics/train.jsonl").back()["step"];
  EXPECT_EQ(shown()["status"], "RUNNING");
  const ProgramResult rest =
      millrace_ok(train({"--set", absl::StrCat("train.max_steps=", last + 4)}), kTimeout);
  EXPECT_THAT(rest.err, HasSubstr("resuming from out/checkpoints/"));
  const Json run = shown();
  EXPECT_EQ(run["status"], "FINISHED");
  expect_curves(run);
}

TEST_F(MlflowTest, AServerThatStartsLaterGetsAllFromTheNextRun) {
  const ProgramResult alone = millrace_ok(train(), kTimeout);
  EXPECT_THAT(alone.err, HasSubstr("reports wait in out/metrics and are sent later"));
  EXPECT_THAT(alone.err, HasSubstr("the next run with this output_dir sends them"));
  start_server();
  const ProgramResult finished = millrace_ok(train(), kTimeout);
  EXPECT_THAT(finished.out, HasSubstr("finished before (completed)"));
  const Json sent = shown();
  EXPECT_EQ(sent["status"], "FINISHED");
  EXPECT_EQ(curve_of(sent, "train/loss").size(), 2);
  expect_curves(sent);
  millrace_ok(train({"--set", "train.max_steps=8"}), kTimeout);
  const Json continued = shown();
  EXPECT_EQ(curve_of(continued, "train/loss").size(), 4);
  expect_curves(continued);
}

}  // namespace
}  // namespace millrace
