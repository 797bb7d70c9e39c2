#include "framework/loop/phase_timer.h"

namespace millrace {

void PhaseTimer::begin_run() {
  MutexLock lock(mutex_);
  phase_ = RankPhase::kStart;
  since_ = clock_.elapsed();
  hooks_ = absl::ZeroDuration();
  phases_.fill(absl::ZeroDuration());
}

void PhaseTimer::enter(RankPhase phase) {
  MutexLock lock(mutex_);
  const absl::Duration now = clock_.elapsed();
  phases_[static_cast<size_t>(phase_)] += now - since_;
  phase_ = phase;
  since_ = now;
}

RankPhase PhaseTimer::phase() const {
  MutexLock lock(mutex_);
  return phase_;
}

void PhaseTimer::add_hooks(absl::Duration time) {
  MutexLock lock(mutex_);
  hooks_ += time;
  since_ += time;
}

RunTimes PhaseTimer::times() const {
  MutexLock lock(mutex_);
  std::array<absl::Duration, kPhases> phases = phases_;
  phases[static_cast<size_t>(phase_)] += clock_.elapsed() - since_;
  const auto of = [&](RankPhase phase) { return phases[static_cast<size_t>(phase)]; };
  return {.data_wait = of(RankPhase::kData) + of(RankPhase::kWindowWait),
          .forward = of(RankPhase::kForward),
          .backward = of(RankPhase::kBackward),
          .exchange = of(RankPhase::kLookup) + of(RankPhase::kCommit),
          .update = of(RankPhase::kUpdate),
          .hooks = hooks_,
          .evaluation = of(RankPhase::kEvaluation),
          .checkpoint = of(RankPhase::kCheckpoint),
          .other = of(RankPhase::kRendezvous) + of(RankPhase::kStart) +
                   of(RankPhase::kBetweenSteps) + of(RankPhase::kEnd)};
}

}  // namespace millrace
