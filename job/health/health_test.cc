#include "job/health/health.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "distributed/one_rank_collectives.h"
#include "job/health/rank_activity.h"

namespace millrace {
namespace {

using ::testing::HasSubstr;

HealthConfig limits() {
  HealthConfig limits;
  limits.set_step_seconds(10);
  limits.set_data_seconds(20);
  limits.set_load_seconds(30);
  limits.set_save_seconds(40);
  limits.set_evaluation_seconds(50);
  return limits;  // window_seconds: none
}

// A rank with a clock that the test moves.
class Rank {
 public:
  // Waits, then begins a phase.
  Rank& phase(RankPhase phase, int64_t step, double after = 0) {
    wait(after);
    activity_.set_phase(phase, step);
    return *this;
  }
  // Ends loading and step 5, with its batch.
  Rank& trains() { return phase(RankPhase::kBetweenSteps, 5).phase(RankPhase::kForward, 6); }
  Rank& wait(double seconds) {
    clock_.advance(absl::Seconds(seconds));
    return *this;
  }
  Rank& begin_exchange() {
    activity_.begin_exchange();
    return *this;
  }
  Rank& end_exchange() {
    activity_.end_exchange();
    return *this;
  }
  Rank& observe(int rank, RankPhase phase, int64_t step) {
    activity_.observe({rank, phase, step});
    return *this;
  }
  HealthReport health(const HealthConfig& config = limits()) const {
    return check_health(activity_.now(), config);
  }
  RankActivity& activity() { return activity_; }

 private:
  FakeClock clock_;
  RankActivity activity_{clock_};
};

struct Case {
  std::string name;
  std::function<void(Rank&)> script;
  double limit;      // seconds until the rank is unhealthy; 0: never
  std::string text;  // after the limit
};

TEST(HealthTest, EachActivityHasItsLimit) {
  using P = RankPhase;
  const std::vector<Case> cases = {
      {"start", [](Rank&) {}, 30,
       "no first step for 31 s; limit run.health.load_seconds 30; phase rendezvous of step 0"},
      {"a checkpoint is loaded, from the start on",
       [](Rank& rank) {
         rank.phase(P::kStart, 0, 10).phase(P::kCheckpoint, 0, 5).phase(P::kData, 0, 5);
       },
       10, "no first step for 31 s; limit run.health.load_seconds 30; phase data of step 0"},
      {"forward", [](Rank& rank) { rank.trains(); }, 10,
       "no step for 11 s; limit run.health.step_seconds 10; phase forward of step 6"},
      {"phases of a step have one limit",
       [](Rank& rank) { rank.trains().phase(P::kBackward, 6, 4).phase(P::kUpdate, 6, 4); }, 2,
       "no step for 11 s; limit run.health.step_seconds 10; phase update of step 6"},
      {"a hook after the step", [](Rank& rank) { rank.trains().phase(P::kBetweenSteps, 6, 9); }, 10,
       "no step for 11 s; limit run.health.step_seconds 10; phase between steps of step 6"},
      {"the time before the step counts",
       [](Rank& rank) { rank.phase(P::kBetweenSteps, 5).phase(P::kForward, 6, 9); }, 1,
       "no step for 11 s"},
      {"data", [](Rank& rank) { rank.trains().phase(P::kData, 6, 9); }, 20,
       "no batch for 21 s; limit run.health.data_seconds 20; phase data of step 6"},
      {"a step after a long wait for data",
       [](Rank& rank) { rank.trains().phase(P::kData, 6).phase(P::kBetweenSteps, 6, 19); }, 10,
       "no step for 11 s"},
      {"a window never comes", [](Rank& rank) { rank.trains().phase(P::kWindowWait, 6); }, 0, ""},
      {"a window came",
       [](Rank& rank) { rank.trains().phase(P::kWindowWait, 6).phase(P::kBetweenSteps, 6, 1000); },
       10, "no step for 11 s"},
      {"save", [](Rank& rank) { rank.trains().phase(P::kCheckpoint, 6, 9); }, 40,
       "no end of the save for 41 s; limit run.health.save_seconds 40"},
      {"end", [](Rank& rank) { rank.trains().phase(P::kEnd, 6, 9); }, 40,
       "no end of the run for 41 s; limit run.health.save_seconds 40"},
      {"evaluation",
       [](Rank& rank) {
         rank.trains().phase(P::kEvaluation, 6).phase(P::kData, 6, 9).phase(P::kEvaluation, 6, 9);
       },
       50, "no batch or end of the evaluation for 51 s; limit run.health.evaluation_seconds 50"},
      {"another rank is awaited",
       [](Rank& rank) { rank.trains().phase(P::kCommit, 6).begin_exchange(); }, 0, ""},
      {"a step after a long exchange",
       [](Rank& rank) {
         rank.trains().phase(P::kCommit, 6).begin_exchange().wait(1000).end_exchange();
       },
       10, "no step for 11 s; limit run.health.step_seconds 10; phase commit of step 6"},
      {"an exchange while loading",
       [](Rank& rank) { rank.begin_exchange().wait(10).end_exchange(); }, 20,
       "no first step for 31 s"},
  };
  for (const Case& test : cases) {
    SCOPED_TRACE(test.name);
    Rank rank;
    test.script(rank);
    EXPECT_TRUE(rank.health().healthy) << rank.health().text;
    EXPECT_THAT(rank.health().text, HasSubstr("ok: "));
    rank.wait(test.limit == 0 ? 1e6 : test.limit - 0.5);
    EXPECT_TRUE(rank.health().healthy) << rank.health().text;
    if (test.limit == 0) continue;
    rank.wait(1.5);
    EXPECT_FALSE(rank.health().healthy);
    EXPECT_THAT(rank.health().text, HasSubstr(test.text));
  }
}

TEST(HealthTest, AWaitForAWindowIsOneWait) {
  HealthConfig config = limits();
  config.set_window_seconds(60);
  Rank rank;
  for (int poll = 0; poll < 12; ++poll) {
    EXPECT_TRUE(rank.health(config).healthy) << rank.health(config).text;
    rank.phase(RankPhase::kWindowWait, 6).begin_exchange().end_exchange();
    rank.phase(RankPhase::kBetweenSteps, 6, 2);
    // A save continues the wait.
    rank.phase(RankPhase::kCheckpoint, 6).phase(RankPhase::kBetweenSteps, 6, 3);
  }
  rank.phase(RankPhase::kWindowWait, 6, 1);
  EXPECT_EQ(rank.health(config).text,
            "no window for 61 s; limit run.health.window_seconds 60; phase window wait of step 6");
  // A batch begins another wait.
  rank.phase(RankPhase::kData, 6).phase(RankPhase::kBetweenSteps, 6);
  EXPECT_TRUE(rank.phase(RankPhase::kWindowWait, 7).health(config).healthy);
}

TEST(HealthTest, NamesTheRanksThatAreAwaited) {
  Rank rank;
  rank.trains().observe(1, RankPhase::kData, 5).wait(1).phase(RankPhase::kCommit, 6);
  rank.begin_exchange().wait(2);
  EXPECT_EQ(rank.health().text, "ok: commit of step 6, waits for other ranks for 2.0 s");
  rank.observe(1, RankPhase::kData, 6).observe(2, RankPhase::kCommit, 6).wait(10);
  EXPECT_EQ(rank.health().text, "ok: commit of step 6, waits for rank 1 (data of step 6) for 12 s");
  for (int peer = 2; peer < 6; ++peer) rank.observe(peer, RankPhase::kCheckpoint, 5);
  EXPECT_THAT(rank.health().text, HasSubstr("rank 3 (checkpoint of step 5), 2 more for 12 s"));
}

TEST(RankActivityTest, CollectivesRecordTheirPhases) {
  Rank rank;
  const auto collectives = record_activity(std::make_unique<OneRankCollectives>(), rank.activity());
  collectives->set_phase(RankPhase::kBackward, 9);
  EXPECT_THAT(rank.health().text, HasSubstr("backward of step 9"));
}

}  // namespace
}  // namespace millrace
