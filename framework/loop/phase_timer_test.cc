#include "framework/loop/phase_timer.h"

#include <gtest/gtest.h>

#include "distributed/one_rank_collectives.h"

namespace millrace {
namespace {

TEST(PhaseTimerTest, PartsAddUpToTheRun) {
  FakeClock clock;
  PhaseTimer timer(clock);
  TimedCollectives ranks(std::make_unique<OneRankCollectives>(), timer);
  clock.advance(absl::Seconds(100));
  timer.begin_run();
  const RankPhase phases[] = {
      RankPhase::kData,         RankPhase::kLookup,     RankPhase::kForward,
      RankPhase::kBackward,     RankPhase::kCommit,     RankPhase::kUpdate,
      RankPhase::kBetweenSteps, RankPhase::kCheckpoint, RankPhase::kEvaluation,
      RankPhase::kWindowWait,   RankPhase::kEnd};
  double seconds = 1;
  clock.advance(absl::Seconds(seconds));  // start
  for (const RankPhase phase : phases) {
    ranks.set_phase(phase, 1);
    seconds *= 2;
    clock.advance(absl::Seconds(seconds));
  }
  const RunTimes times = timer.times();
  EXPECT_EQ(times.data_wait, absl::Seconds(2 + 1024));
  EXPECT_EQ(times.exchange, absl::Seconds(4 + 32));
  EXPECT_EQ(times.forward, absl::Seconds(8));
  EXPECT_EQ(times.backward, absl::Seconds(16));
  EXPECT_EQ(times.update, absl::Seconds(64));
  EXPECT_EQ(times.checkpoint, absl::Seconds(256));
  EXPECT_EQ(times.evaluation, absl::Seconds(512));
  EXPECT_EQ(times.other, absl::Seconds(1 + 128 + 2048));
  EXPECT_EQ(times.total(), absl::Seconds(4095));
}

TEST(PhaseTimerTest, HooksAreNoPartOfThePhaseTheyRunIn) {
  FakeClock clock;
  PhaseTimer timer(clock);
  timer.begin_run();
  timer.enter(RankPhase::kForward);
  clock.advance(absl::Seconds(5));
  timer.add_hooks(absl::Seconds(2));
  timer.enter(RankPhase::kUpdate);
  clock.advance(absl::Seconds(1));
  EXPECT_EQ(timer.times().forward, absl::Seconds(3));
  EXPECT_EQ(timer.times().hooks, absl::Seconds(2));
  EXPECT_EQ(timer.times().total(), absl::Seconds(6));
  timer.begin_run();
  EXPECT_EQ(timer.times().total(), absl::ZeroDuration());
}

}  // namespace
}  // namespace millrace
