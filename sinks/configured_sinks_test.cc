#include "sinks/configured_sinks.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/clock.h"
#include "base/fault_file_system_testing.h"
#include "base/http/http_client.h"
#include "base/memory_file_system_testing.h"
#include "base/mutex.h"
#include "base/status_matchers.h"
#include "framework/report/report_rows.h"
#include "hooks/sinks_hook.h"
#include "proto/config_reader.h"
#include "sinks/mlflow/fake_mlflow_testing.h"
#include "sinks/prometheus/prometheus_sink.h"
#include "sinks/tensorboard/event_file.h"
#include "tests/fakes/fake_hook_context.h"

namespace millrace {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class ConfiguredSinksTest : public testing::Test {
 protected:
  absl::StatusOr<std::vector<NamedSink>> make(const std::string& run, int rank = 0) {
    JobConfig config;
    EXPECT_OK(parse_text("run {" + run + "}", "the test", &config));
    return make_sinks(config, files_, {.rank = rank, .world_size = 2});
  }
  std::vector<std::string> names(const std::string& run, int rank = 0) {
    std::vector<std::string> names;
    const auto sinks = make(run, rank);
    EXPECT_OK(sinks.status());
    if (!sinks.ok()) return names;
    for (const NamedSink& named : *sinks) names.push_back(named.name);
    return names;
  }
  // Lets all sinks write a report.
  void report(const std::string& run, int rank) {
    const auto sinks = make(run, rank);
    ASSERT_OK(sinks.status());
    for (const NamedSink& named : *sinks) {
      EXPECT_OK(named.sink->start({}));
      EXPECT_OK(named.sink->write_report(Report()));
    }
  }
  MemoryFileSystem files_;
};

TEST_F(ConfiguredSinksTest, TensorBoardIsThereByDefault) {
  EXPECT_THAT(names(""), ElementsAre("tensorboard"));
  EXPECT_THAT(names("report { tensorboard: false }"), IsEmpty());
  EXPECT_THAT(names("sink { tensorboard { directory: \"tb\" } }"), ElementsAre("tensorboard"));
  EXPECT_THAT(names("sink { csv {} } sink { prometheus { port: 0 } }"),
              ElementsAre("csv", "prometheus", "tensorboard"));
}

TEST_F(ConfiguredSinksTest, OtherRanksHaveThoseOfAllRanks) {
  EXPECT_THAT(names("sink { csv {} }", 1), IsEmpty());
  EXPECT_THAT(names("sink { csv {} ranks: ALL } sink { prometheus { port: 0 } }", 1),
              ElementsAre("csv"));
}

TEST_F(ConfiguredSinksTest, PlacesAreBelowTheOutputDirectory) {
  report("output_dir: \"o\" sink { csv {} }", 0);
  report("output_dir: \"o\" sink { csv { directory: \"all\" } ranks: ALL }", 1);
  EXPECT_OK(files_.info("o/metrics/train.csv").status());
  EXPECT_OK(files_.info("o/all/rank-1/train.csv").status());
  EXPECT_OK(files_.info("o/tensorboard").status());
}

TEST_F(ConfiguredSinksTest, AnMlflowRunHasNameAndConfiguration) {
  FakeMlflow server;
  const auto sink = [&](const std::string& fields) {
    return "output_dir: \"/a/o\" sink { mlflow { tracking_uri: \"" + server.uri() + "\" " + fields;
  };
  files_.put("/a/o/metrics/train.jsonl", report_row(Report(), absl::UnixEpoch()) + "\n");
  report(sink("} }"), 0);
  EXPECT_EQ(server.run().name, "o");
  EXPECT_EQ(server.run().experiment, "millrace");
  EXPECT_EQ(server.run().status, "FINISHED");
  EXPECT_EQ(server.run().params["run.output_dir"], "/a/o");
  EXPECT_OK(files_.info("/a/o/mlflow/run.json").status());
  EXPECT_FALSE(files_.info("/a/o/mlflow/train.jsonl").ok()) << "the sink follows metrics/";
  report(sink("directory: \"own\" } } report { jsonl: false }"), 0);
  EXPECT_OK(files_.info("/a/o/own/train.jsonl").status());
  server.delete_runs(/*forget=*/true);
  report(sink("experiment: \"e\" run_name: \"n\" directory: \"d\" } ranks: ALL }"), 1);
  EXPECT_EQ(server.run().name, "n-rank-1");
  EXPECT_EQ(server.run().experiment, "e");
  EXPECT_OK(files_.info("/a/o/d/rank-1/run.json").status());
  EXPECT_OK(files_.info("/a/o/d/rank-1/train.jsonl").status());
}

// The other rank ends the job if it waits longer than collective_timeout_seconds.
TEST_F(ConfiguredSinksTest, OtherRanksDoNotWaitForAnMlflowServer) {
  FakeMlflow server;
  Mutex mutex;
  bool answers = false;
  server.intercept([&](const TestRequest&) {
    MutexLock lock(mutex);
    mutex.await([&] { return answers; });
    return std::optional<TestResponse>();
  });
  ASSERT_OK_AND_ASSIGN(
      const auto sinks,
      make(
          absl::StrCat("output_dir: 'o' distributed { collective_timeout_seconds: 1 } "
                       "report { tensorboard: false jsonl: false } sink { mlflow { tracking_uri: '",
                       server.uri(), "' timeout_seconds: 600 } }")));
  ASSERT_EQ(sinks.size(), 1);
  EXPECT_OK(sinks[0].sink->start({}));
  EXPECT_OK(sinks[0].sink->write_report(Report()));
  const absl::Duration begin = Clock::real().elapsed();
  EXPECT_OK(sinks[0].sink->flush());
  EXPECT_LT(Clock::real().elapsed() - begin, absl::Seconds(600));
  MutexLock lock(mutex);
  answers = true;
}

TEST_F(ConfiguredSinksTest, AnOccupiedPortIsNamed) {
  ASSERT_OK_AND_ASSIGN(const auto first, PrometheusSink::create("127.0.0.1", 0, Clock::real()));
  const std::string taken =
      absl::StrCat("sink { csv {} } sink { prometheus { port: ", first->port(), " } }");
  EXPECT_THAT(make(taken).status(),
              StatusIs(absl::StatusCode::kUnavailable,
                       AllOf(HasSubstr("run.sink[1]"), HasSubstr(absl::StrCat(first->port())),
                             HasSubstr("choose another port"))));
}

// Rank 2 is the first one of its machine.
TEST_F(ConfiguredSinksTest, SinksListenBeforeTheyAreMade) {
  ASSERT_OK_AND_ASSIGN(auto free, PrometheusSink::create("127.0.0.1", 0, Clock::real()));
  const int port = free->port();
  JobConfig config;
  ASSERT_OK(parse_text(absl::StrCat("run { report { tensorboard: false } sink { csv {} } sink { "
                                    "prometheus { port: ",
                                    port, " port_by_local_rank: true } ranks: ALL } }"),
                       "the test", &config));
  const SinkRank rank{.rank = 2, .world_size = 4, .local_rank = 0, .local_world_size = 2};
  const HealthCheck health = [] { return HealthReport{true, "ok"}; };
  EXPECT_THAT(make_sinks(config, files_, rank, listen_early(config, rank, health)).status(),
              StatusIs(absl::StatusCode::kUnavailable, HasSubstr("run.sink[1]")))
      << "the port is taken";
  free.reset();
  ListeningSinks listening = listen_early(config, rank, health);
  ASSERT_EQ(listening.size(), 1);
  ASSERT_OK(listening.at(1).status());
  const HttpClient client({.host = "127.0.0.1", .port = port}, {.timeout = absl::Seconds(30)});
  ASSERT_OK_AND_ASSIGN(const HttpResponse response, client.send({.target = "/healthz"}));
  EXPECT_EQ(response.body, "ok\n");
  const Sink* const made = listening.at(1)->get();
  ASSERT_OK_AND_ASSIGN(const auto sinks, make_sinks(config, files_, rank, std::move(listening)));
  ASSERT_EQ(sinks.size(), 1) << "rank 0 alone has the other sink";
  EXPECT_EQ(sinks[0].sink.get(), made);
}

TEST_F(ConfiguredSinksTest, APortThatARankDoesNotHaveIsNamed) {
  for (const int rank : {0, 1}) {
    EXPECT_THAT(make("sink { prometheus { port: 65535 } ranks: ALL }", rank).status(),
                StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("at most 65534")));
  }
}

// Whichever call of the file system fails, as on a full disk, the hook reports the failure at most
// once and continues, and the other sink writes all of its data.
TEST_F(ConfiguredSinksTest, AFullDiskSwitchesOffOneSink) {
  JobConfig config;
  ASSERT_OK(parse_text("run { output_dir: 'o' sink { csv {} } }", "the test", &config));
  const auto run = [&](FileSystem& files) {
    auto sinks = make_sinks(config, files, {});
    ASSERT_OK(sinks.status());
    SinksHook hook(*std::move(sinks));
    FakeHookContext context;
    EXPECT_OK(hook.start(context));
    int errors = 0;
    const auto expect_switched_off = [&](const absl::Status& status) {
      if (status.ok()) return;
      ++errors;
      EXPECT_THAT(status, StatusIs(absl::StatusCode::kResourceExhausted,
                                   HasSubstr("is switched off for the rest of the run")));
    };
    Report report;
    report.metrics = {{"loss", 0.5}};
    for (report.progress.step = 10; report.progress.step <= 30; report.progress.step += 10) {
      expect_switched_off(hook.after_report(context, report));
      expect_switched_off(hook.after_checkpoint(context, {}));
    }
    EvaluationResult result;
    result.set = "eval";
    expect_switched_off(hook.after_evaluate(context, result));
    expect_switched_off(hook.end(context, absl::OkStatus()));
    EXPECT_LE(errors, 1);
  };
  int64_t failed = 0;
  for (bool more = true; more; ++failed) {
    MemoryFileSystem memory;
    FaultFileSystem files(memory);
    files.fail(failed, 1, absl::ResourceExhaustedError("no space left on device"));
    run(files);
    more = files.calls() > failed;
    const auto csv = read_file(memory, "o/metrics/train.csv");
    const bool csv_is_whole =
        csv.ok() && std::count(csv->begin(), csv->end(), '\n') == 4;  // names and three reports
    int64_t events = 0;
    const auto entries = memory.list("o/tensorboard");
    if (entries.ok() && !entries->empty()) {
      const auto read = read_events(*read_file(memory, "o/tensorboard/" + (*entries)[0].name));
      if (read.ok()) events = static_cast<int64_t>(read->size());
    }
    // The version, the beginning, the configuration, three reports and an evaluation.
    const bool tensorboard_is_whole = events == 7;
    EXPECT_TRUE(csv_is_whole || tensorboard_is_whole) << "call " << failed;
    if (!more) {
      EXPECT_TRUE(csv_is_whole && tensorboard_is_whole) << events;
    }
  }
  EXPECT_GT(failed, 10);
}

}  // namespace
}  // namespace millrace
