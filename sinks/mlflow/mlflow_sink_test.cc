#include "sinks/mlflow/mlflow_sink.h"

#include <fstream>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "base/clock.h"
#include "base/http/certificate_testing.h"
#include "base/log.h"
#include "base/memory_file_system_testing.h"
#include "base/status_matchers.h"
#include "framework/report/report_rows.h"
#include "framework/report/sink_conformance.h"
#include "sinks/mlflow/fake_mlflow_testing.h"
#include "tests/environment/scoped_variable.h"

namespace millrace {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr char kDirectory[] = "out/mlflow";

// `rows_directory`: "" for a sink that writes the rows.
std::unique_ptr<MlflowSink> make_sink(FileSystem& files, Clock& clock, const std::string& uri,
                                      const std::string& rows_directory = "") {
  auto sink = MlflowSink::create(files, clock,
                                 {.tracking_uri = uri,
                                  .experiment = "e",
                                  .run_name = "name",
                                  .directory = kDirectory,
                                  .rows_directory = rows_directory,
                                  .timeout = absl::Seconds(30),
                                  .params = {{"train.max_steps", "7"}}});
  EXPECT_OK(sink.status());
  return sink.ok() ? *std::move(sink) : nullptr;
}

// A server for all tests of a suite.
template <int kStatus>
FakeMlflow& shared_server() {
  static auto* const server = new FakeMlflow;
  if (kStatus != 200) {
    server->intercept([](const TestRequest&) { return http_response(kStatus, "busy"); });
  }
  return *server;
}

// Returns the values of a file of rows.
std::vector<SinkValue> values_in(const SinkInput& input, const char* file) {
  std::vector<SinkValue> values;
  const auto text = read_file(*input.files, join_path(kDirectory, file));
  for (absl::string_view line : absl::StrSplit(text.value_or(""), '\n', absl::SkipEmpty())) {
    const auto row = parse_report_row(line);
    EXPECT_OK(row.status());
    if (!row.ok()) continue;
    for (const auto& [name, value] : row->numbers) {
      values.push_back({row->step, absl::StrCat(row->set, "/", name), value});
    }
  }
  return values;
}

[[maybe_unused]] const bool kWithServer = register_sink_conformance(
    "MlflowSinkWithServer", {.make = [](const SinkInput& input) -> std::unique_ptr<Sink> {
      return make_sink(*input.files, Clock::real(), shared_server<200>().uri());
    }});

[[maybe_unused]] const bool kWithoutServer = register_sink_conformance(
    "MlflowSinkWithoutServer",
    {.make = [](const SinkInput& input) -> std::unique_ptr<Sink> {
       return make_sink(*input.files, Clock::real(), shared_server<503>().uri());
     },
     .read = [](const SinkInput& input) { return values_in(input, kTrainRows); },
     .read_evaluations = [](const SinkInput& input) { return values_in(input, kEvalRows); },
     .holds_figures = true});

class MlflowSinkTest : public testing::Test {
 protected:
  MlflowSinkTest() { EXPECT_OK(files_.create_directories("out")); }
  std::unique_ptr<MlflowSink> make() { return make_sink(files_, clock_, server_.uri()); }
  static void report(Sink& sink, int64_t step, double loss) {
    Report report;
    report.progress.step = step;
    report.metrics["loss"] = loss;
    EXPECT_OK(sink.write_report(report));
  }
  // Leaves a report of step 10 unsent, as a run does whose server is busy.
  void leave_a_report() {
    server_.intercept([](const TestRequest&) { return http_response(503, "busy"); });
    {
      const auto sink = make();
      EXPECT_OK(sink->start({}));
      report(*sink, 10, 1);
      EXPECT_OK(sink->flush());
    }
    server_.intercept(nullptr);
  }
  FakeMlflow server_;
  MemoryFileSystem files_;
  FakeClock clock_{absl::FromUnixMillis(1000)};
};

TEST_F(MlflowSinkTest, NamesOfSets) {
  const auto sink = make();
  EXPECT_OK(sink->start({}));
  report(*sink, 10, 0.25);
  clock_.advance(absl::Seconds(1));
  EvaluationResult result;
  result.set = "eval";
  result.progress.step = 10;
  result.metrics["c=7/auc"] = 0.75;
  EXPECT_OK(sink->write_evaluation(result));
  EXPECT_OK(sink->flush());
  EXPECT_THAT(server_.values("train/loss"), ElementsAre("0.25"));
  EXPECT_THAT(server_.values("eval/c:7/auc"), ElementsAre("0.75"));
  EXPECT_EQ(server_.run().metrics.back().time_ms, 1000) << "that of the step's first report";
  EXPECT_EQ(server_.run().params["train.max_steps"], "7");
}

TEST_F(MlflowSinkTest, EqualValuesOfAResumedRunAreStoredOnce) {
  {
    const auto sink = make();
    EXPECT_OK(sink->start({}));
    for (const int64_t step : {10, 20, 30}) report(*sink, step, 0.5 + static_cast<double>(step));
    EXPECT_OK(sink->flush());
  }
  EXPECT_EQ(server_.run().status, "FINISHED");
  clock_.advance(absl::Seconds(1));
  const auto sink = make();
  EXPECT_OK(sink->start({.first_step = 10}));
  report(*sink, 20, 20.5);
  report(*sink, 30, 7);
  report(*sink, 40, 40.5);
  EXPECT_OK(sink->flush());
  EXPECT_THAT(server_.values("train/loss"), ElementsAre("10.5", "20.5", "30.5", "7", "40.5"));
  EXPECT_EQ(server_.run().received, 6 * 10) << "the row of the checkpoint once";
  EXPECT_EQ(server_.run().status, "RUNNING");
}

TEST_F(MlflowSinkTest, LaterStepsThatWereNotSentAreRemoved) {
  server_.intercept([](const TestRequest&) { return http_response(503, "busy"); });
  {
    const auto sink = make();
    EXPECT_OK(sink->start({}));
    for (const int64_t step : {10, 20, 30}) report(*sink, step, 1);
    EXPECT_OK(sink->flush());
  }
  server_.intercept(nullptr);
  const auto sink = make();
  EXPECT_OK(sink->start({.first_step = 20}));
  report(*sink, 30, 2);
  EXPECT_OK(sink->flush());
  EXPECT_THAT(server_.values("train/loss"), ElementsAre("1", "1", "2"));
}

TEST_F(MlflowSinkTest, AnEvaluationAfterTheCheckpointIsStoredOnce) {
  const auto evaluate = [](Sink& sink, const std::string& set) {
    EvaluationResult result;
    result.set = set;
    result.progress.step = 10;
    result.metrics["auc"] = 0.75;
    EXPECT_OK(sink.write_evaluation(result));
  };
  {
    const auto sink = make();
    EXPECT_OK(sink->start({}));
    evaluate(*sink, "early");
    evaluate(*sink, "late");
    EXPECT_OK(sink->flush());
  }
  clock_.advance(absl::Seconds(1));
  const auto sink = make();
  EXPECT_OK(sink->start({.first_step = 10, .written = {{"early"}}}));
  evaluate(*sink, "late");
  EXPECT_OK(sink->flush());
  EXPECT_THAT(server_.values("early/auc"), ElementsAre("0.75"));
  EXPECT_THAT(server_.values("late/auc"), ElementsAre("0.75")) << "of one time";
}

// The hook metric_report writes the rows. A resumed run replaces rows with its first new row.
TEST_F(MlflowSinkTest, FollowsTheRowsOfTheRun) {
  const auto row = [&](int64_t step, double loss) {
    Report report;
    report.progress.step = step;
    report.metrics["loss"] = loss;
    return report_row(report, clock_.now()) + "\n";
  };
  constexpr char kRows[] = "out/metrics/train.jsonl";
  const std::string kept = row(10, 1);
  files_.put(kRows, kept + row(20, 2) + row(30, 3));
  {
    const auto sink = make_sink(files_, clock_, server_.uri(), "out/metrics");
    EXPECT_OK(sink->start({.first_step = 10}));
    EXPECT_OK(sink->write_evaluation(EvaluationResult()));
    EXPECT_OK(sink->flush());
    EXPECT_THAT(server_.values("train/loss"), ElementsAre("1")) << "others come again";
    files_.put(kRows, kept + row(20, 4));
    report(*sink, 20, 4);
    EXPECT_OK(sink->flush());
    EXPECT_THAT(server_.values("train/loss"), ElementsAre("1", "4"));
    report(*sink, 30, 5);
    files_.put(kRows, kept + row(20, 4) + row(30, 5));  // after the sink was called
  }
  EXPECT_THAT(server_.values("train/loss"), ElementsAre("1", "4", "5"));
  EXPECT_FALSE(files_.info("out/mlflow/train.jsonl").ok());
}

// The hook metric_report could not write its first row.
TEST_F(MlflowSinkTest, OldRowsStayUnsentWhileTheirFileIsTheOldOne) {
  constexpr char kRows[] = "out/metrics/train.jsonl";
  const std::string old_rows = R"({"step":10,"metrics":{"loss":1}})"
                               "\n"
                               R"({"step":20,"metrics":{"loss":2}})"
                               "\n";
  files_.put(kRows, old_rows);
  const auto sink = make_sink(files_, clock_, server_.uri(), "out/metrics");
  EXPECT_OK(sink->start({.first_step = 10}));
  report(*sink, 20, 3);
  EXPECT_OK(sink->flush());
  EXPECT_THAT(server_.values("train/loss"), ElementsAre("1"));
}

TEST_F(MlflowSinkTest, ASecondRunOfAProcessContinuesTheRun) {
  const auto sink = make();
  for (const int64_t first_step : {0, 10}) {
    EXPECT_OK(sink->start({.first_step = first_step}));
    if (first_step > 0) {
      EXPECT_EQ(server_.run().status, "RUNNING");
    }
    report(*sink, first_step + 10, 1);
    EXPECT_OK(sink->flush());
  }
  EXPECT_THAT(server_.values("train/loss"), ElementsAre("1", "1"));
  EXPECT_EQ(server_.run().received, 2 * 10);
}

TEST_F(MlflowSinkTest, OtherFilesOfRowsAreNamed) {
  leave_a_report();
  std::string log;
  set_log_sink([&](LogSeverity, absl::string_view line) { absl::StrAppend(&log, line); });
  make_sink(files_, clock_, server_.uri(), "out/metrics").reset();
  set_log_sink(nullptr);
  EXPECT_THAT(log, HasSubstr("were not sent remain in out/mlflow"));
}

// Run 2 replaces the values of step 20 and cannot send them. Run 3 begins behind them.
TEST_F(MlflowSinkTest, ReplacedValuesAreSentByTheRunAfterTheNext) {
  for (const int64_t first_step : {0, 10, 20}) {
    server_.intercept([=](const TestRequest&) {
      return first_step == 10 ? std::optional(http_response(503, "busy")) : std::nullopt;
    });
    const auto sink = make();
    EXPECT_OK(sink->start({.first_step = first_step}));
    report(*sink, first_step + 10, 1 + static_cast<double>(first_step));
    if (first_step == 0) report(*sink, 20, 2);
    EXPECT_OK(sink->flush());
  }
  EXPECT_THAT(server_.values("train/loss"), ElementsAre("1", "2", "11", "21"));
}

TEST_F(MlflowSinkTest, AQueueOfVersion010IsNamed) {
  std::string log;
  set_log_sink([&](LogSeverity, absl::string_view line) { absl::StrAppend(&log, line); });
  files_.put("out/mlflow/queue-00000001.jsonl", "");
  files_.put("out/mlflow/run.json", "");
  make_sink(files_, clock_, server_.uri(), "out/metrics").reset();
  EXPECT_EQ(log, "") << "its reports are in metrics/*.jsonl";
  make().reset();
  set_log_sink(nullptr);
  EXPECT_THAT(log, HasSubstr("out/mlflow has a queue of version 0.1.0"));
}

TEST_F(MlflowSinkTest, ReportsThatVersion010SentAreNotSentAgain) {
  for (const bool sent : {true, false}) {
    {
      const auto sink = make();
      EXPECT_OK(sink->start({}));
      report(*sink, 10, 1);
      EXPECT_OK(sink->flush());
    }
    auto state = load_run_state(files_, "out/mlflow/run.json", server_.uri(), "e", 0);
    ASSERT_OK(state.status());
    state->sent.clear();
    EXPECT_OK(save_run_state(files_, "out/mlflow/run.json", *state));
    files_.put("out/mlflow/queue-00000012.jsonl", "abc\n");
    files_.put("out/mlflow/position", sent ? "12 4\n" : "12 2\n");
    files_.put("out/metrics/train.jsonl", "{\"step\":10,\"metrics\":{\"loss\":7}}\n");
    make_sink(files_, clock_, server_.uri(), "out/metrics").reset();
    EXPECT_EQ(server_.values("train/loss").size(), sent ? 1 : 2);
  }
}

TEST_F(MlflowSinkTest, ARunWithoutReportsLeavesNothing) {
  const auto sink = make();
  EXPECT_OK(sink->start({}));
  EXPECT_OK(sink->flush());
  EXPECT_THAT(files_.info(kDirectory).status(), StatusIs(absl::StatusCode::kNotFound));
  make()->start({}).IgnoreError();  // a run that ends
  ASSERT_OK(files_.create_directories(kDirectory));
  EXPECT_OK(make()->start({})) << "a run after one that left no row";
  EXPECT_EQ(server_.requests(""), 0);
  report(*sink, 10, 1);
  EXPECT_OK(sink->flush());
  EXPECT_THAT(server_.values("train/loss"), ElementsAre("1"));
}

TEST_F(MlflowSinkTest, AResumedRunSendsWhatIsLeftAtItsStart) {
  leave_a_report();
  const auto sink = make();
  EXPECT_OK(sink->start({.first_step = 10}));
  EXPECT_OK(sink->flush());
  EXPECT_THAT(server_.values("train/loss"), ElementsAre("1"));
}

TEST_F(MlflowSinkTest, AReportBeforeTheStartRemovesNothing) {
  leave_a_report();
  const auto sink = make();
  EXPECT_THAT(sink->write_report(Report()),
              StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("before start()")));
  EXPECT_THAT(sink->write_evaluation(EvaluationResult()),
              StatusIs(absl::StatusCode::kFailedPrecondition));
  EXPECT_OK(sink->start({.first_step = 10}));
  EXPECT_OK(sink->flush());
  EXPECT_THAT(server_.values("train/loss"), ElementsAre("1"));
}

TEST_F(MlflowSinkTest, ARunThatHasNothingToTrainSendsWhatIsLeft) {
  leave_a_report();
  make().reset();
  EXPECT_THAT(server_.values("train/loss"), ElementsAre("1"));
  EXPECT_EQ(server_.run().status, "FINISHED");
  const int64_t requests = server_.requests("");
  make().reset();
  EXPECT_EQ(server_.requests(""), requests) << "nothing was left";
}

TEST_F(MlflowSinkTest, ARemovedDirectoryBeginsAnew) {
  const auto sink = make();
  EXPECT_OK(sink->start({}));
  report(*sink, 10, 1);
  EXPECT_OK(sink->flush());
  EXPECT_OK(remove_recursively(files_, "out"));
  report(*sink, 20, 2);      // lost: it is written into the removed files
  EXPECT_OK(sink->flush());  // after the next checkpoint
  report(*sink, 30, 3);
  EXPECT_OK(sink->flush());
  EXPECT_THAT(server_.values("train/loss"), ElementsAre("1", "3"));
  EXPECT_TRUE(files_.info("out/mlflow/times").ok());
  EXPECT_TRUE(files_.info("out/mlflow/run.json").ok()) << "for the next run";
}

TEST_F(MlflowSinkTest, ReachesAServerWithTlsAndAToken) {
  const TestCertificate own = make_test_certificate();
  const std::string path = testing::TempDir() + "mlflow_server.pem";
  std::ofstream(path) << own.certificate;
  const ScopedVariable certificate("MLFLOW_TRACKING_SERVER_CERT_PATH", path),
      token("MLFLOW_TRACKING_TOKEN", "secret");
  std::string authorization;
  FakeMlflow server({.certificate = own.certificate, .key = own.key});
  server.intercept([&](const TestRequest& request) {
    authorization = std::string(request.header("Authorization"));
    return std::optional<TestResponse>();
  });
  auto sink = make_sink(files_, clock_, server.uri());
  EXPECT_OK(sink->start({}));
  report(*sink, 10, 1);
  EXPECT_OK(sink->flush());
  sink.reset();
  EXPECT_THAT(server.values("train/loss"), ElementsAre("1"));
  EXPECT_EQ(authorization, "Bearer secret");
}

TEST_F(MlflowSinkTest, AFullDiskIsAnError) {
  const auto sink = make();
  EXPECT_OK(sink->start({}));
  EXPECT_OK(sink->flush());
  files_.set_capacity(0);
  EXPECT_THAT(sink->write_report(Report()), StatusIs(absl::StatusCode::kResourceExhausted));
}

TEST_F(MlflowSinkTest, AWrongAddress) {
  EXPECT_THAT(MlflowSink::create(files_, clock_, {.tracking_uri = "ftp://x"}).status(),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("tracking_uri is \"ftp://x\"; it must have the form")));
}

}  // namespace
}  // namespace millrace
