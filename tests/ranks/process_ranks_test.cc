// Tests cases of rank_cases.h with ranks as processes, over Gloo: each with two ranks, the first of
// each group with three. thread_ranks_test runs each with three, too.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "distributed/c10d_collectives.h"
#include "distributed/process_ranks_testing.h"
#include "framework/trainer.h"
#include "tests/fakes/fake_windowed_dataset.h"
#include "tests/fakes/recording_hook.h"
#include "tests/fakes/tiny_trainer.h"
#include "tests/ranks/rank_cases.h"

namespace millrace {
namespace {

// Returns the outcome of a rank as the message of an OutOfRange error.
absl::Status run_rank(const RankCase& rank_case, int guilty, const RankEnvironment& environment) {
  C10dOptions options;
  options.environment = environment;
  options.identity = {.name = "rank cases", .version = "test", .config = rank_case.name};
  options.rendezvous_timeout = absl::Seconds(30);
  options.collective_timeout = absl::Seconds(20);
  ASSIGN_OR_RETURN(std::unique_ptr<Collectives> collectives, connect_c10d(options));
  return absl::OutOfRangeError(run_rank_case(rank_case, guilty, std::move(collectives)));
}

struct World {
  int size;
  int guilty;
};

class ProcessRanksTest : public testing::TestWithParam<World> {};

TEST_P(ProcessRanksTest, CasesEndAsDecided) {
  const auto [world_size, guilty_rank] = GetParam();
  const int guilty = guilty_rank;
  std::string last_group;
  for (const RankCase& rank_case : rank_cases()) {
    if (world_size > 2 && rank_case.group == last_group) continue;
    last_group = rank_case.group;
    SCOPED_TRACE(absl::StrCat(rank_case.group, ": ", rank_case.name));
    ProcessRanks ranks(world_size, [&](const RankEnvironment& environment, const ChildLink&) {
      return run_rank(rank_case, guilty, environment);
    });
    for (int rank = 0; rank < world_size; ++rank) {
      const absl::Status outcome = ranks.wait(rank);
      EXPECT_EQ(outcome.code(), absl::StatusCode::kOutOfRange) << outcome;
      EXPECT_EQ(outcome.message(),
                (rank == guilty ? rank_case.guilty : rank_case.others)(world_size, guilty))
          << "on rank " << rank;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Ranks, ProcessRanksTest,
                         testing::Values(World{2, 0}, World{2, 1}, World{3, 0}, World{3, 2}),
                         [](const auto& info) {
                           return absl::StrCat(info.param.size, "On", info.param.guilty);
                         });

// Trains three ranks on a window and waits for another one, which never comes. `after_evaluate` of
// rank 1 hangs, after the first window.
absl::Status train_with_a_hanging_hook(const RankEnvironment& environment) {
  C10dOptions connection;
  connection.environment = environment;
  connection.identity = {.name = "hanging hook", .version = "test", .config = ""};
  connection.collective_timeout = absl::Seconds(3);
  TinyTrainerOptions tiny;
  tiny.train = {
      .batch_size = 6, .rank = environment.rank, .world_size = environment.world_size, .dense = 3};
  tiny.eval = tiny.train;
  tiny.eval.batches = 1;
  tiny.trainer.poll_interval = absl::Milliseconds(20);
  TrainerParts parts = tiny_parts(tiny);
  parts.train_data =
      std::make_unique<FakeWindowedDataset>(tiny.train, std::vector<FakeWindow>{{1, 0}, {1, -1}});
  ASSIGN_OR_RETURN(parts.collectives, connect_c10d(connection));
  ASSIGN_OR_RETURN(const auto trainer, Trainer::create(tiny.trainer, std::move(parts)));
  std::vector<std::string> events;
  RETURN_IF_ERROR(trainer->add_hook(
      std::make_unique<RecordingHook>(&events, [&](HookContext& context, absl::string_view event) {
        if (event == "after_window") context.requests().evaluate();
        while (event == "after_evaluate" && environment.rank == 1) ::pause();
        return absl::OkStatus();
      })));
  return trainer->train().status();
}

TEST(WindowWaitOfProcessesTest, AHookThatHangsIsFoundThoughTheOthersWaitForAWindow) {
  ProcessRanks ranks(3, [](const RankEnvironment& environment, const ChildLink&) {
    return train_with_a_hanging_hook(environment);
  });
  for (const int rank : {0, 2}) {
    const absl::Status outcome = ranks.wait(rank);
    EXPECT_EQ(outcome.code(), absl::StatusCode::kAborted) << outcome;
    EXPECT_THAT(std::string(outcome.message()),
                testing::HasSubstr("rank 1 failed in between steps of step 1: it did not take part "
                                   "in an exchange within 3s"));
  }
}

}  // namespace
}  // namespace millrace
