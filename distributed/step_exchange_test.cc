#include "distributed/step_exchange.h"

#include <gtest/gtest.h>

#include "base/status_macros.h"
#include "base/status_matchers.h"
#include "distributed/one_rank_collectives.h"
#include "distributed/thread_collectives.h"

namespace millrace {
namespace {

// Returns each rank's result if rank r's input is inputs[r].
std::vector<ExchangeResult> exchange(const std::vector<ExchangeInput>& inputs,
                                     int64_t evaluation_sets = 0, int64_t tasks = 0) {
  std::vector<ExchangeResult> results(inputs.size());
  const std::vector<absl::Status> outcomes =
      run_thread_ranks({.world_size = static_cast<int>(inputs.size())},
                       [&](std::unique_ptr<Collectives> collectives) -> absl::Status {
                         StepExchange exchange(*collectives, evaluation_sets, tasks);
                         const int rank = collectives->rank();
                         ASSIGN_OR_RETURN(results[rank], exchange.run(inputs[rank]));
                         return absl::OkStatus();
                       });
  for (const absl::Status& outcome : outcomes) EXPECT_OK(outcome);
  return results;
}

TEST(StepExchange, OneRankHearsItself) {
  OneRankCollectives collectives;
  StepExchange exchange(collectives, 2);
  ExchangeInput input;
  input.has_data = true;
  input.examples = 7;
  input.requests.evaluate = {0, 1};
  input.elapsed = absl::Milliseconds(1500);
  input.fingerprint = 0xffffffffffffffff;
  ASSERT_OK_AND_ASSIGN(const ExchangeResult result, exchange.run(input));
  EXPECT_EQ(result.ranks_with_data, 1);
  EXPECT_EQ(result.examples, 7);
  EXPECT_EQ(result.requests.evaluate, (std::vector<int64_t>{0, 1}));
  EXPECT_EQ(result.elapsed, absl::Milliseconds(1500));
  EXPECT_FALSE(result.diverged);
  EXPECT_TRUE(result.requests.any());
}

TEST(StepExchange, AddsUpWhatRanksBringAndTakesTheTimeOfRankZero) {
  ExchangeInput first;
  first.has_data = true;
  first.examples = 5;
  first.elapsed = absl::Seconds(3);
  first.requests.stop = 1;
  ExchangeInput second;
  second.examples = 2;
  second.elapsed = absl::Seconds(100);
  second.failed = true;
  second.durable = true;
  second.time_is_up = true;
  ExchangeInput third = first;
  third.requests.checkpoint = 1;
  third.requests.reload = 1;
  for (const ExchangeResult& result : exchange({first, second, third})) {
    EXPECT_EQ(result.ranks_with_data, 2);
    EXPECT_EQ(result.examples, 12);
    EXPECT_EQ(result.requests.stop, 2);
    EXPECT_EQ(result.requests.checkpoint, 1);
    EXPECT_EQ(result.requests.reload, 1);
    EXPECT_EQ(result.failed, 1);
    EXPECT_EQ(result.durable, 1);
    EXPECT_EQ(result.time_is_up, 1);
    EXPECT_EQ(result.elapsed, absl::Seconds(3));
    EXPECT_FALSE(result.diverged);
  }
}

TEST(StepExchange, AddsUpTargetsOfTasks) {
  ExchangeInput first, second;
  first.targets = {5, 0};
  first.requests.evaluate = {1, 0, 1};
  second.targets = {2, 1};
  for (const ExchangeResult& result : exchange({first, second, {}}, 3, 2)) {
    EXPECT_EQ(result.targets, (std::vector<int64_t>{7, 1}));
    EXPECT_EQ(result.requests.evaluate, (std::vector<int64_t>{1, 0, 1}));
  }
  EXPECT_TRUE(exchange({{}, {}})[0].targets.empty());
}

TEST(StepExchange, NothingAskedIsNoRequest) {
  for (const ExchangeResult& result : exchange({{}, {}}, 3)) EXPECT_FALSE(result.requests.any());
}

TEST(StepExchange, DivergenceShowsOnEveryRank) {
  const auto diverged = [](const std::vector<uint64_t>& fingerprints) {
    std::vector<ExchangeInput> inputs(fingerprints.size());
    for (size_t i = 0; i < inputs.size(); ++i) inputs[i].fingerprint = fingerprints[i];
    const std::vector<ExchangeResult> results = exchange(inputs);
    for (const ExchangeResult& result : results) {
      EXPECT_EQ(result.diverged, results[0].diverged);
    }
    return results[0].diverged;
  };
  EXPECT_FALSE(diverged({9, 9}));
  EXPECT_FALSE(diverged({0, 0, 0}));
  EXPECT_FALSE(diverged({0xffffffffffff, 0xffffffffffff, 0xffffffffffff}));
  EXPECT_TRUE(diverged({9, 8}));
  // Rank 1 could not detect the difference from this sum alone: 1 + 2 + 3 = 3 * 2.
  EXPECT_TRUE(diverged({1, 2, 3}));
  EXPECT_TRUE(diverged({0xffffffffffff, 0xffffff}));
  EXPECT_TRUE(diverged({0, 1ull << 47}));
}

TEST(StepExchange, RunsBesideOtherCollectives) {
  const auto outcomes = run_thread_ranks(
      {.world_size = 2}, [](std::unique_ptr<Collectives> collectives) -> absl::Status {
        StepExchange exchange(*collectives, 0);
        for (int64_t step = 0; step < 100; ++step) {
          ExchangeInput input;
          input.examples = step;
          exchange.start(input);
          EXPECT_TRUE(exchange.under_way());
          ASSIGN_OR_RETURN(const std::vector<std::string> all,
                           collectives->all_gather(absl::string_view("x", collectives->rank())));
          EXPECT_EQ(all, (std::vector<std::string>{"", "x"}));
          ASSIGN_OR_RETURN(const ExchangeResult result, exchange.finish());
          EXPECT_EQ(result.examples, 2 * step);
          EXPECT_FALSE(exchange.under_way());
        }
        return absl::OkStatus();
      });
  for (const absl::Status& outcome : outcomes) EXPECT_OK(outcome);
}

TEST(StepExchange, FailsWhenARankDies) {
  ThreadRanksOptions options;
  options.inject = [](const CollectiveCall& call) {
    return call.rank == 1 ? absl::InternalError("died") : absl::OkStatus();
  };
  const auto outcomes =
      run_thread_ranks(options, [](std::unique_ptr<Collectives> collectives) -> absl::Status {
        collectives->set_phase(RankPhase::kForward, 4);
        return StepExchange(*collectives, 0).run({}).status();
      });
  EXPECT_THAT(outcomes[0],
              StatusIs(absl::StatusCode::kAborted, "rank 1 failed in forward of step 4: died"));
  EXPECT_THAT(outcomes[1], StatusIs(absl::StatusCode::kInternal, "died"));
}

}  // namespace
}  // namespace millrace
