// The phase of a rank during a section of code.
#ifndef MILLRACE_FRAMEWORK_LOOP_PHASE_SCOPE_H_
#define MILLRACE_FRAMEWORK_LOOP_PHASE_SCOPE_H_

#include "distributed/collectives.h"
#include "framework/loop/loop_position.h"

namespace millrace {

// Reports `phase` to the other ranks on construction and `after` on destruction, each with the
// current step. Borrows both references.
class PhaseScope {
 public:
  PhaseScope(Collectives& ranks, const LoopPosition& position, RankPhase phase,
             RankPhase after = RankPhase::kBetweenSteps)
      : ranks_(ranks), position_(position), after_(after) {
    ranks_.set_phase(phase, position_.steps_done());
  }
  ~PhaseScope() { ranks_.set_phase(after_, position_.steps_done()); }
  PhaseScope(const PhaseScope&) = delete;
  PhaseScope& operator=(const PhaseScope&) = delete;

 private:
  Collectives& ranks_;
  const LoopPosition& position_;
  const RankPhase after_;
};

}  // namespace millrace

#endif  // MILLRACE_FRAMEWORK_LOOP_PHASE_SCOPE_H_
