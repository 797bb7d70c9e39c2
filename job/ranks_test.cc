#include "job/ranks.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <string>
#include <thread>
#include <utility>

#include "base/status_matchers.h"
#include "distributed/thread_collectives.h"
#include "proto/config_reader.h"

namespace millrace {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

RankEnvironment environment(int rank, int world_size) {
  RankEnvironment environment;
  environment.rank = rank;
  environment.world_size = world_size;
  environment.master_address = "127.0.0.1";
  environment.master_port = 1;  // nobody listens there
  return environment;
}

JobConfig job(const std::string& text) {
  JobConfig config;
  EXPECT_OK(parse_text(text, "job", &config));
  return config;
}

TEST(CheckThreadsTest, AFewThreadsStart) {
  for (const int count : {1, 2, 4}) EXPECT_OK(check_threads(count));
}

TEST(ManyThreadsWarningTest, ComparesWithTheCores) {
  EXPECT_EQ(many_threads_warning(8, 2), "");
  EXPECT_THAT(many_threads_warning(9, 2),
              HasSubstr("run.threads is 9, but the machine has 2 cores"));
}

TEST(JoinRanksTest, OneRankNeedsNobody) {
  ASSERT_OK_AND_ASSIGN(const auto ranks,
                       join_ranks(RankEnvironment(), job("train { table { name: 't' } }")));
  EXPECT_EQ(ranks->rank(), 0);
  EXPECT_EQ(ranks->world_size(), 1);
}

TEST(JoinRanksTest, AMasterThatIsNotThereIsAPeersFailure) {
  EXPECT_THAT(
      join_ranks(environment(1, 2), job("run { distributed { rendezvous_timeout_seconds: 1 } }")),
      StatusIs(absl::StatusCode::kAborted, HasSubstr("127.0.0.1")));
}

TEST(CommonSettingsTest, AreThoseThatDecideTheSequenceOfCollectives) {
  const auto settings = [](const std::string& run) {
    return common_settings(job("run { " + run + " }").run());
  };
  const std::string defaults = settings("");
  for (const char* run :
       {"checkpoint { asynchronous: false }", "checkpoint { write_threads: 2 }", "threads: 3",
        "read { prefetch_batches: 7 }", "report { jsonl: false tensorboard: false }",
        "output_dir: 'elsewhere'", "hooks { name: 'profiler' }"}) {
    EXPECT_EQ(settings(run), defaults) << run;
  }
  const std::pair<const char*, const char*> different[] = {
      {"checkpoint { asynchronous: true }", "\nrun.checkpoint.asynchronous: true\n"},
      {"checkpoint { when { every_steps: 7 } }", "\nrun.checkpoint.when: every_steps: 7"},
      {"checkpoint { max_deltas: 3 }", "\nrun.checkpoint.max_deltas: 3\n"},
      {"report { when { every_steps: 7 } }", "run.report.when: every_steps: 7"},
      {"evaluation { enabled: false }", "\nrun.evaluation.enabled: false\n"},
      {"evaluation { set { name: 'a' } set { name: 'b' } }", "\nrun.evaluation.set: name: \"a\""},
      {"resume: 'never'", "\nrun.resume: never\n"},
  };
  for (const auto& [run, line] : different) EXPECT_THAT(settings(run), HasSubstr(line)) << run;
  EXPECT_EQ(settings("resume: 'a/step-00000001'"), settings("resume: 'b/step-00000001'"));
}

TEST(OnRank0Test, OthersWaitUntilItIsDone) {
  std::atomic<int> done{0};
  const auto statuses =
      run_thread_ranks({.world_size = 3}, [&](std::unique_ptr<Collectives> ranks) {
        RETURN_IF_ERROR(on_rank_0(*ranks, [&] {
          ++done;
          return absl::OkStatus();
        }));
        return done == 1 ? absl::OkStatus() : absl::InternalError("not done");
      });
  for (const absl::Status& status : statuses) EXPECT_OK(status);
}

TEST(OnRank0Test, ItsErrorReachesAll) {
  const auto statuses =
      run_thread_ranks({.world_size = 3}, [&](std::unique_ptr<Collectives> ranks) {
        return on_rank_0(*ranks, [] { return absl::ResourceExhaustedError("disk full"); });
      });
  EXPECT_THAT(statuses[0], StatusIs(absl::StatusCode::kResourceExhausted, "disk full"));
  for (int rank : {1, 2}) {
    EXPECT_THAT(statuses[rank], StatusIs(absl::StatusCode::kAborted,
                                         AllOf(HasSubstr("rank 0"), HasSubstr("disk full"))));
  }
}

TEST(ThreadsOfRankTest, ShareOfTheMachine) {
  const int cores = static_cast<int>(std::thread::hardware_concurrency());
  EXPECT_EQ(threads_of_rank(RunConfig(), 1), cores);
  EXPECT_EQ(threads_of_rank(RunConfig(), 2), std::max(1, cores / 2));
  EXPECT_EQ(threads_of_rank(RunConfig(), 100 * cores), 1);
  RunConfig three;
  three.set_threads(3);
  EXPECT_EQ(threads_of_rank(three, 2), 3);
}

}  // namespace
}  // namespace millrace
