#include "sinks/mlflow/mlflow_sink.h"

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/clock.h"
#include "base/memory_file_system_testing.h"
#include "base/status_matchers.h"
#include "framework/report/sink_conformance.h"
#include "sinks/mlflow/fake_mlflow_testing.h"
#include "sinks/mlflow/metric_record.h"

namespace millrace {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr char kDirectory[] = "out/mlflow";

std::unique_ptr<MlflowSink> make_sink(FileSystem& files, Clock& clock, const std::string& uri) {
  auto sink = MlflowSink::create(files, clock,
                                 {.tracking_uri = uri,
                                  .experiment = "e",
                                  .run_name = "name",
                                  .directory = kDirectory,
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

// Removes the values from the queue, and returns those under names that begin so, or do not.
std::vector<SinkValue> queued(const SinkInput& input, const char* prefix, bool begins) {
  std::vector<SinkValue> values;
  const auto queue = RecordQueue::open(*input.files, kDirectory, {});
  EXPECT_OK(queue.status());
  for (;;) {
    const auto batch = (*queue)->peek(1000);
    EXPECT_OK(batch.status());
    if (batch->records.empty()) return values;
    for (const std::string& text : batch->records) {
      const auto record = parse_metric_record(text);
      EXPECT_OK(record.status());
      for (const auto& [name, value] : record->metrics) {
        if (absl::StartsWith(name, prefix) == begins) values.push_back({record->step, name, value});
      }
    }
    EXPECT_OK((*queue)->remove(*batch));
  }
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
     .read = [](const SinkInput& input) { return queued(input, "train/", true); },
     .read_evaluations = [](const SinkInput& input) { return queued(input, "train/", false); },
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
  // Leaves a report of step 10 in the queue, as a run does whose server is busy.
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

// The queue may have records of a program that did not store the set.
TEST_F(MlflowSinkTest, RecordsWithoutASetStay) {
  {
    ASSERT_OK_AND_ASSIGN(const auto queue, RecordQueue::open(files_, kDirectory, {}));
    for (const int64_t step : {10, 20}) {
      EXPECT_OK(queue->append(to_json({.step = step, .metrics = {{"eval/auc", 0.5}}})));
    }
    EXPECT_OK(queue->sync());
  }
  const auto sink = make();
  EXPECT_OK(sink->start({.first_step = 10, .written = {{}}}));
  EXPECT_OK(sink->flush());
  EXPECT_THAT(server_.values("eval/auc"), ElementsAre("0.5"));
}

TEST_F(MlflowSinkTest, ARunWithoutReportsLeavesNothing) {
  const auto sink = make();
  EXPECT_OK(sink->start({}));
  EXPECT_OK(sink->flush());
  EXPECT_THAT(files_.info(kDirectory).status(), StatusIs(absl::StatusCode::kNotFound));
  make()->start({}).IgnoreError();  // a run that ends
  ASSERT_OK(files_.create_directories(kDirectory));
  EXPECT_OK(make()->start({})) << "a run after one that left no record";
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

TEST_F(MlflowSinkTest, NothingIsWrittenBeforeTheStart) {
  const auto sink = make();
  EXPECT_OK(sink->flush());
  EXPECT_THAT(server_.runs(), IsEmpty());
  EXPECT_THAT(files_.info(kDirectory).status(), StatusIs(absl::StatusCode::kNotFound));
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

TEST_F(MlflowSinkTest, AFullDiskIsAnError) {
  const auto sink = make();
  EXPECT_OK(sink->start({}));
  EXPECT_OK(sink->flush());
  files_.set_capacity(0);
  EXPECT_THAT(sink->write_report(Report()), StatusIs(absl::StatusCode::kResourceExhausted));
}

TEST_F(MlflowSinkTest, AWrongAddress) {
  EXPECT_THAT(MlflowSink::create(files_, clock_, {.tracking_uri = "https://x"}).status(),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("tracking_uri is \"https://x\"; https is not supported")));
}

}  // namespace
}  // namespace millrace
